import type { TSchema } from 'typebox'
import { closestTo } from '../platform/closest.ts'

/** A field of a body that its schema does not know. */
export interface UnknownField {
  /** `promt`, `params[0].colour`. */
  readonly path: string
  /** Names that the schema knows in its place. */
  readonly known: readonly string[]
}

/** The members of an object as a schema has them; `isOpen` when any other member is welcome too. */
interface Members {
  readonly isOpen: boolean
  readonly byName: ReadonlyMap<string, readonly TSchema[]>
}

/** Fields of a body that `schema` does not know: its own members, and with `isDeep` those of all objects within. */
export function* unknownFields(schema: TSchema, body: unknown, isDeep: boolean): Generator<UnknownField> {
  yield* walk([schema], body, '', isDeep)
}

/** `name` with what was probably meant; a name that is too long to be a slip is not compared. */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  return name.length > 64 ? undefined : closestTo(name, known)
}

function* walk(schemas: readonly TSchema[], value: unknown, path: string, isDeep: boolean): Generator<UnknownField> {
  if (Array.isArray(value)) {
    const items = schemas.flatMap(itemsOf)
    if (items.length === 0) return
    for (const [at, item] of value.entries()) yield* walk(items, item, `${path}[${at}]`, isDeep)
  } else if (typeof value === 'object' && value !== null) {
    yield* walkMembers(schemas, value, path, isDeep)
  }
}

function* walkMembers(schemas: readonly TSchema[], value: object, path: string, isDeep: boolean) {
  const { byName, isOpen } = membersOf(schemas)
  for (const [name, member] of Object.entries(value)) {
    const within = byName.get(name)
    const place = path === '' ? name : `${path}.${name}`
    if (!within && !isOpen) yield { path: place, known: [...byName.keys()] }
    else if (within && isDeep) yield* walk(within, member, place, isDeep)
  }
}

/** The parts of a JSON schema that say which members an object has. */
interface Parts {
  readonly anyOf?: readonly TSchema[]
  readonly allOf?: readonly TSchema[]
  readonly type?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: object
  readonly additionalProperties?: unknown
}

/** A schema, or the alternatives that it is made of. */
const alternatives = (schema: TSchema): readonly TSchema[] => {
  const { anyOf, allOf } = schema as Parts
  return anyOf || allOf ? [...(anyOf ?? []), ...(allOf ?? [])].flatMap(alternatives) : [schema]
}

const itemsOf = (schema: TSchema): readonly TSchema[] => alternatives(schema).flatMap(one => (one as Parts).items ?? [])

/** What is known of an object of any of the alternatives; nothing is unknown where none describes its members. */
function membersOf(schemas: readonly TSchema[]): Members {
  const described = schemas.flatMap(alternatives) as readonly Parts[]
  const objects = described.filter(({ type, properties }) => type === 'object' || properties !== undefined)
  const isAnything = described.some(({ type, properties }) => type === undefined && properties === undefined)
  const byName = new Map<string, TSchema[]>()
  for (const { properties = {} } of objects) {
    for (const [name, schema] of Object.entries(properties)) byName.set(name, [...(byName.get(name) ?? []), schema])
  }
  const isOpen =
    isAnything ||
    objects.length === 0 ||
    objects.some(
      ({ patternProperties, additionalProperties = false }) => patternProperties || additionalProperties !== false,
    )
  return { isOpen, byName }
}
