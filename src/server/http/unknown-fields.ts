import type { TSchema } from 'typebox'
import { closestTo } from '../platform/closest.ts'

/** A field of a body that is not in its schema. */
export interface UnknownField {
  /** `promt`, `params[0].colour`. */
  readonly path: string
  /** Known names in its place. */
  readonly expected: readonly string[]
}

/** Members of an object in a schema; `isOpen` if other members are allowed too. */
interface Members {
  readonly isOpen: boolean
  readonly byName: ReadonlyMap<string, readonly TSchema[]>
}

/** Yields unknown fields of a body: top-level ones, and with `isDeep` those of nested objects. */
export function* unknownFields(schema: TSchema, body: unknown, isDeep: boolean): Generator<UnknownField> {
  yield* walk([schema], body, '', isDeep)
}

/** Returns the known name closest to `name`; undefined if none is close or the name is too long for a typo. */
export function suggestionFor(name: string, expected: readonly string[]): string | undefined {
  return name.length > 64 ? undefined : closestTo(name, expected)
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
    if (!within && !isOpen) yield { path: place, expected: [...byName.keys()] }
    else if (within && isDeep) yield* walk(within, member, place, isDeep)
  }
}

/** Keywords of a JSON schema that define the members of an object. */
interface Parts {
  readonly anyOf?: readonly TSchema[]
  readonly allOf?: readonly TSchema[]
  readonly type?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: object
  readonly additionalProperties?: unknown
}

/** Returns the alternatives of a schema, or the schema itself. */
const alternatives = (schema: TSchema): readonly TSchema[] => {
  const { anyOf, allOf } = schema as Parts
  return anyOf || allOf ? [...(anyOf ?? []), ...(allOf ?? [])].flatMap(alternatives) : [schema]
}

const itemsOf = (schema: TSchema): readonly TSchema[] => alternatives(schema).flatMap(one => (one as Parts).items ?? [])

/** Returns the members of an object in all alternatives. It is open if no alternative defines members. */
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
