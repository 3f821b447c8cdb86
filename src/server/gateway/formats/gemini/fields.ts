import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json } from '../../../platform/json.ts'

/**
 * Returns a field of Google's format by its camelCase name. Google accepts two spellings: `inlineData` and
 * `inline_data`. Must not be used for names chosen by callers, such as those of arguments.
 */
export const field = (record: Json, name: string): unknown => record[name] ?? record[snakeCase(name)]

/** Returns the object in a field; an empty object for any other value. */
export function objectField(record: Json, name: string): Json {
  const value = field(record, name)
  return isRecord(value) ? value : {}
}

/** Returns a name in camelCase. */
export const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const maxDepth = 100

/** Google's own formats, which JSON Schema does not define. */
const ownFormats: ReadonlySet<unknown> = new Set(['enum', 'int32', 'int64', 'float', 'double'])

/** Keywords with integers, which Google's JSON may encode as strings. */
const counts: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** Converts Google's schema format to JSON Schema. `path` is the path of the schema. */
export function jsonSchemaOf(schema: unknown, path: string): Json {
  return converted(schema, path, 0)
}

function converted(schema: unknown, path: string, depth: number): Json {
  if (!isRecord(schema)) throw invalid(`${path} must be an object`)
  if (depth > maxDepth) throw invalid(`${path} is nested deeper than ${maxDepth} levels`)
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

/** Converts each value and keeps the keys, which are names of properties. */
const eachOf = (value: unknown, name: string, inner: Inner): unknown =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, `${name}.${key}`)]))
    : value

function typeOf(value: unknown): Json {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value]
  const names = types.flatMap(type =>
    typeof type === 'string' && type !== 'TYPE_UNSPECIFIED' ? [type.toLowerCase()] : [],
  )
  if (names.length === 0) return {}
  return { type: Array.isArray(value) ? names : names[0] }
}

function withNull(schema: Json): Json {
  const { type, enum: values, anyOf } = schema
  if (type === undefined && Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined) return schema
  return { ...schema, type: [type, 'null'].flat(), ...(Array.isArray(values) && { enum: [...values, null] }) }
}

/** Returns the schema with closed objects (no additional properties). Other providers enforce only closed schemas. */
export function closedSchema(schema: Json, path: string, depth = 0): Json {
  if (depth > maxDepth) throw invalid(`${path} is nested deeper than ${maxDepth} levels`)
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
