import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json } from '../../../platform/json.ts'

/**
 * A field of Google's format, which has two spellings for each: `inlineData` and `inline_data`. Asked for by the first.
 * Names that callers choose, such as those of arguments, must not be read so.
 */
export const field = (record: Json, name: string): unknown => record[name] ?? record[snakeCase(name)]

/** The object in a field; an empty one in place of anything else. */
export function objectField(record: Json, name: string): Json {
  const value = field(record, name)
  return isRecord(value) ? value : {}
}

/** The first spelling of a name in either one. */
export const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const maxDepth = 100

/** Google's own formats, which say nothing in JSON Schema. */
const ownFormats: ReadonlySet<unknown> = new Set(['enum', 'int32', 'int64', 'float', 'double'])

/** Whole numbers, which Google's JSON writes as text. */
const counts: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** A schema of Google's own kind as JSON Schema. `path` is where it stands. */
export function jsonSchemaOf(schema: unknown, path: string): Json {
  return converted(schema, path, 0)
}

function converted(schema: unknown, path: string, depth: number): Json {
  if (!isRecord(schema)) throw invalid(`${path} must be an object`)
  if (depth > maxDepth) throw invalid(`${path} is nested too deep`)
  const inner = (value: unknown, step: string): Json => converted(value, `${path}.${step}`, depth + 1)
  const result: Record<string, unknown> = {}
  let isNullable = false
  for (const [given, value] of Object.entries(schema)) {
    const name = camelCase(given)
    if (name === 'nullable') isNullable = value === true
    else Object.assign(result, keyword(name, value, inner))
  }
  return isNullable ? withNull(result) : result
}

type Inner = (value: unknown, step: string) => Json

function keyword(name: string, value: unknown, inner: Inner): Json {
  switch (name) {
    case 'type':
      return typeOf(value)
    case 'format':
      return ownFormats.has(value) ? {} : { format: value }
    case 'properties':
    case 'defs':
      return { [name === 'defs' ? '$defs' : name]: eachOf(value, name, inner) }
    case 'items':
      return { items: inner(value, name) }
    case 'anyOf':
      return { anyOf: Array.isArray(value) ? value.map((one, at) => inner(one, `anyOf.${at}`)) : value }
    case 'additionalProperties':
      return { additionalProperties: isRecord(value) ? inner(value, name) : value }
    case 'ref':
      return { $ref: String(value).replace(/^#\/defs\//, '#/$defs/') }
    case 'example':
      return { examples: [value] }
    case 'propertyOrdering':
      return {}
    default:
      return { [name]: counts.has(name) && typeof value === 'string' ? Number(value) : value }
  }
}

/** Names of properties are the caller's and stay as they are. */
const eachOf = (value: unknown, name: string, inner: Inner): unknown =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, `${name}.${key}`)]))
    : value

function typeOf(value: unknown): Json {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value]
  const known = types.flatMap(type =>
    typeof type === 'string' && type !== 'TYPE_UNSPECIFIED' ? [type.toLowerCase()] : [],
  )
  if (known.length === 0) return {}
  return { type: Array.isArray(value) ? known : known[0] }
}

function withNull(schema: Json): Json {
  const { type, enum: values, anyOf } = schema
  if (type === undefined && Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined) return schema
  return { ...schema, type: [type, 'null'].flat(), ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/**
 * A schema whose objects take no other properties than those named: other providers keep an answer only to such ones.
 */
export function closedSchema(schema: Json, path: string, depth = 0): Json {
  if (depth > maxDepth) throw invalid(`${path} is nested too deep`)
  const one = (value: unknown): unknown => (isRecord(value) ? closedSchema(value, path, depth + 1) : value)
  const inner = (value: unknown): unknown => (Array.isArray(value) ? value.map(one) : one(value))
  const each = (value: unknown): unknown =>
    isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, given]) => [key, one(given)])) : value
  const closed = Object.entries(schema).map(([name, value]): [string, unknown] => {
    if (name === 'properties' || name === '$defs') return [name, each(value)]
    return [name, name === 'items' || name === 'anyOf' ? inner(value) : value]
  })
  const isOpen = isRecord(schema['properties']) && schema['additionalProperties'] === undefined
  return { ...Object.fromEntries(closed), ...(isOpen && { additionalProperties: false }) }
}
