import { isRecord, recordsOf } from '../../../platform/json.ts'

/** Words that strict mode does not know. */
const foreign = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentRequired', 'dependentSchemas']

/**
 * True for a schema that the upstream takes as `strict`: every object in it is closed and requires all of its
 * properties. Anthropic's strict mode asks for less, so not every schema of a client fits.
 */
export function fitsStrict(schema: unknown): boolean {
  if (!isRecord(schema)) return false
  const { properties, items, anyOf, $defs, definitions } = schema
  if (foreign.some(word => word in schema)) return false
  const isObject = schema['type'] === 'object' || properties !== undefined
  if (isObject && !isClosed(schema)) return false
  const inner = [properties, $defs, definitions].flatMap(map => (isRecord(map) ? Object.values(map) : []))
  const all = [...inner, ...(isRecord(items) ? [items] : []), ...recordsOf(anyOf)]
  return all.every(fitsStrict)
}

function isClosed(schema: Readonly<Record<string, unknown>>): boolean {
  const names = isRecord(schema['properties']) ? Object.keys(schema['properties']) : []
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return schema['additionalProperties'] === false && names.every(name => required.includes(name))
}
