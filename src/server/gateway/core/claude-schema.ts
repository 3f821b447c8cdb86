import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import { isClaude } from '../formats/shared/model-traits.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/** Keywords of JSON Schema that Claude's structured output rejects. Source: Anthropic's page on structured outputs. */
const unsupported: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
  ...['patternProperties', 'propertyNames', 'unevaluatedProperties', 'contains', 'minContains', 'maxContains'],
])

/** Supported string formats; any other is rejected. */
const supportedFormats: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
])

/** Keywords whose value is a schema, a list of schemas, or an object of schemas by name. */
const inner: ReadonlySet<string> = new Set(['items', 'not', 'if', 'then', 'else', 'additionalItems'])
const innerLists: ReadonlySet<string> = new Set(['anyOf', 'allOf', 'prefixItems'])
const innerMaps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/** Deeper levels are not adapted: a model could not follow such a schema. */
const maxDepth = 100

/**
 * Returns the request with a schema that Claude's structured output accepts. Unsupported keywords move to the
 * description, which the model reads, and objects are closed (`additionalProperties: false`). Each change is reported.
 */
export function withClaudeSchema(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (!isClaude(target)) return request
  const config = recordOf(request['output_config'])
  const format = recordOf(config['format'])
  const { type, schema } = format
  if (type !== 'json_schema' || !isRecord(schema)) return request
  const adapted = new SchemaAdapter(note).schema(schema, 'output_config.format.schema', 0)
  if (adapted === schema) return request
  return { ...request, output_config: { ...config, format: { ...format, schema: adapted } } }
}

/** Adapts one schema. Parts without changes are not copied. */
class SchemaAdapter {
  readonly #note: StepOptions['note']

  constructor(note: StepOptions['note']) {
    this.#note = note
  }

  schema(schema: Json, path: string, depth: number): Json {
    if (depth > maxDepth) return schema
    const adapted: Record<string, unknown> = {}
    const described: string[] = []
    let isChanged = false
    for (const [name, value] of Object.entries(schema)) {
      if (isUnsupported(name, value)) {
        described.push(`${name}: ${JSON.stringify(value)}`)
        this.#note(`${path}.${name}`, 'described')
        continue
      }
      // `oneOf` is not supported. The model writes one branch in any case, so `anyOf` accepts the same answers.
      const keyword = name === 'oneOf' ? 'anyOf' : name
      adapted[keyword] = this.#value(keyword, value, { path: `${path}.${name}`, depth })
      isChanged ||= adapted[keyword] !== value || keyword !== name
    }
    if (described.length > 0)
      adapted['description'] = [textOf(adapted['description']), `(${described.join(', ')})`].join(' ').trim()
    const isOpen = isObject(adapted) && adapted['additionalProperties'] !== false
    if (isOpen) {
      adapted['additionalProperties'] = false
      this.#note(`${path}.additionalProperties`, 'closed')
    }
    return isChanged || described.length > 0 || isOpen ? adapted : schema
  }

  #value(name: string, value: unknown, { path, depth }: { readonly path: string; readonly depth: number }): unknown {
    if (inner.has(name)) return isRecord(value) ? this.schema(value, path, depth + 1) : value
    if (innerLists.has(name) && Array.isArray(value)) {
      const list: readonly unknown[] = value
      const adapted = list.map((one, at) => (isRecord(one) ? this.schema(one, `${path}.${at}`, depth + 1) : one))
      return adapted.some((one, at) => one !== list[at]) ? adapted : value
    }
    if (!innerMaps.has(name) || !isRecord(value)) return value
    const entries = Object.entries(value)
    const adapted = entries.map(
      ([key, one]) => [key, isRecord(one) ? this.schema(one, `${path}.${key}`, depth + 1) : one] as const,
    )
    return adapted.some(([, one], at) => one !== entries[at]?.[1]) ? Object.fromEntries(adapted) : value
  }
}

function isUnsupported(name: string, value: unknown): boolean {
  if (name === 'minItems') return value !== 0 && value !== 1
  if (name === 'format') return !supportedFormats.has(value)
  return unsupported.has(name)
}

const isObject = ({ type, properties }: Json): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isRecord(properties)
