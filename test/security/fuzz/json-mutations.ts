import fc from 'fast-check'
import { bare, doubled, hostileText, hostileValue } from './hostile-values.ts'

/** A change of one node of a JSON value. `at` chooses the node, counted from the root. */
interface Mutation {
  readonly at: number
  readonly kind: 'replace' | 'remove' | 'add' | 'wrap' | 'rename' | 'repeat'
  readonly name: string
  readonly value: unknown
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(10_000),
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'wrap', 'rename', 'repeat'),
  name: hostileText.map(text => text.slice(0, 300)),
  value: hostileValue,
})

/** Returns values with one to three changes. */
export const mutated = (values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(values, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([value, mutations]) => mutations.reduce(mutate, value))

type Container = Record<string, unknown> | unknown[]

/** A node, by the object or array that contains it. */
interface Place {
  readonly parent: Container
  readonly name: string
}

function mutate(value: unknown, change: Mutation): unknown {
  const root: Record<string, unknown> = { root: structuredClone(value) }
  const places = placesIn(root)
  const place = places[change.at % places.length]
  if (place) apply(place, change)
  return root['root']
}

function placesIn(parent: Container): Place[] {
  return Object.entries(parent).flatMap(([name, value]) => {
    const below = typeof value === 'object' && value !== null ? placesIn(value as Container) : []
    return [{ parent, name }, ...below]
  })
}

function apply({ parent, name }: Place, { kind, name: otherName, value }: Mutation): void {
  const members = parent as Record<string, unknown>
  const old = members[name]
  const isObject = typeof old === 'object' && old !== null && !Array.isArray(old)
  if (kind === 'remove') remove(parent, name)
  else if (kind === 'add' && isObject) define(old, otherName, value)
  else if (kind === 'wrap') members[name] = [old]
  else if (kind === 'rename' && !Array.isArray(parent)) {
    delete parent[name]
    define(parent, otherName, old)
  } else if (kind === 'repeat' && !Array.isArray(parent)) define(parent, name + doubled, value)
  else members[name] = value
}

function remove(parent: Container, name: string): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 1)
  else delete parent[name]
}

/** Also of the name `__proto__`, which an assignment would not add. */
const define = (object: object, name: string, value: unknown): void =>
  void Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })

/** Writes a value as JSON, with the marks of `hostile-values.ts` carried out. */
export const jsonOf = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null')
    .replaceAll(doubled, '')
    .replaceAll(new RegExp(`"${bare}([^"]*)"`, 'gu'), (_, text: string) => text)
