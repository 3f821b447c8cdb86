import { isRecord, type Json, listOf, mapped, recordsOf } from '../../../platform/json.ts'

/** Keywords that strict mode rejects. */
const unsupportedKeywords = [
  'oneOf',
  'allOf',
  'not',
  'if',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
]

/**
 * Returns true for a schema that the upstream accepts as `strict`: all objects are closed and require all of their
 * properties. Anthropic's strict mode requires less, so that not all schemas of clients fit.
 */
export function fitsStrict(schema: unknown): boolean {
  if (!isRecord(schema)) return false
  const { properties, items, anyOf, $defs, definitions } = schema
  if (unsupportedKeywords.some(keyword => keyword in schema)) return false
  const isObject = schema['type'] === 'object' || properties !== undefined
  if (isObject && !isClosed(schema)) return false
  if (isArray(schema) && !isRecord(items)) return false
  const inner = [properties, $defs, definitions].flatMap(map => (isRecord(map) ? Object.values(map) : []))
  const all = [...inner, ...(isRecord(items) ? [items] : []), ...recordsOf(anyOf)]
  return all.every(fitsStrict)
}

function isClosed(schema: Json): boolean {
  const names = isRecord(schema['properties']) ? Object.keys(schema['properties']) : []
  const required = new Set(listOf(schema['required']))
  return schema['additionalProperties'] === false && names.every(name => required.has(name))
}

const isArray = ({ type }: Json): boolean => type === 'array' || listOf(type).includes('array')

/** Keywords whose value is a schema, a list of schemas, or an object of schemas by name. */
const inner: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else'])
const innerLists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const innerMaps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/**
 * Returns the schema with `items` in every array. OpenAI rejects arrays without it, which JSON Schema and Anthropic
 * allow. The same object if nothing is missing.
 */
export function withItems(schema: Json): Json {
  const changed = Object.entries(schema).map(([name, value]): readonly [string, unknown] => [
    name,
    innerOf(name, value),
  ])
  const complete = changed.every(([name, value]) => value === schema[name]) ? schema : Object.fromEntries(changed)
  return isArray(complete) && complete['items'] === undefined ? { ...complete, items: {} } : complete
}

function innerOf(name: string, value: unknown): unknown {
  const one = (entry: unknown): unknown => (isRecord(entry) ? withItems(entry) : entry)
  if (inner.has(name)) return one(value)
  if (innerLists.has(name) && Array.isArray(value)) return mapped<unknown>(value, one)
  if (!innerMaps.has(name) || !isRecord(value)) return value
  const entries = Object.entries(value)
  const changed = entries.map(([key, entry]) => [key, one(entry)] as const)
  return changed.every(([key, entry]) => entry === value[key]) ? value : Object.fromEntries(changed)
}
