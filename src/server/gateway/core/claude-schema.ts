import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import { isClaude } from '../formats/shared/model-traits.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/** Words of JSON Schema that structured output of Claude refuses. Source: Anthropic's page on structured outputs. */
const refused: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
  ...['patternProperties', 'propertyNames', 'unevaluatedProperties', 'contains', 'minContains', 'maxContains'],
])

/** Formats of strings that it keeps to; any other is refused. */
const takenFormats: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
])

/** Whose value is one schema, a list of them, or an object of them by name. */
const inner: ReadonlySet<string> = new Set(['items', 'not', 'if', 'then', 'else', 'additionalItems'])
const innerLists: ReadonlySet<string> = new Set(['anyOf', 'allOf', 'prefixItems'])
const innerMaps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/** No schema that a model can follow nests deeper; what is below goes on as it is. */
const mostDepth = 100

/**
 * The request with a schema that Claude takes for its structured output. What it refuses is told in the description
 * instead, where the model reads it, and objects are closed. Each change is reported.
 */
export function withClaudeSchema(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (!isClaude(target)) return request
  const config = recordOf(request['output_config'])
  const format = recordOf(config['format'])
  const { type, schema } = format
  if (type !== 'json_schema' || !isRecord(schema)) return request
  const adapted = new Adaption(note).schema(schema, 'output_config.format.schema', 0)
  if (adapted === schema) return request
  return { ...request, output_config: { ...config, format: { ...format, schema: adapted } } }
}

/** One pass over a schema. What needs no change is not copied. */
class Adaption {
  readonly #note: StepOptions['note']

  constructor(note: StepOptions['note']) {
    this.#note = note
  }

  schema(schema: Json, path: string, depth: number): Json {
    if (depth > mostDepth) return schema
    const kept: Record<string, unknown> = {}
    const told: string[] = []
    let isChanged = false
    for (const [name, value] of Object.entries(schema)) {
      if (isRefused(name, value)) {
        told.push(`${name}: ${JSON.stringify(value)}`)
        this.#note(`${path}.${name}`, 'described')
        continue
      }
      // Only one of its branches can be chosen anyway, and one that fits is all that is asked for.
      const taken = name === 'oneOf' ? 'anyOf' : name
      kept[taken] = this.#value(taken, value, { path: `${path}.${name}`, depth })
      isChanged ||= kept[taken] !== value || taken !== name
    }
    if (told.length > 0) kept['description'] = [textOf(kept['description']), `(${told.join(', ')})`].join(' ').trim()
    const isOpen = isObject(kept) && kept['additionalProperties'] !== false
    if (isOpen) {
      kept['additionalProperties'] = false
      this.#note(`${path}.additionalProperties`, 'closed')
    }
    return isChanged || told.length > 0 || isOpen ? kept : schema
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

function isRefused(name: string, value: unknown): boolean {
  if (name === 'minItems') return value !== 0 && value !== 1
  if (name === 'format') return !takenFormats.has(value)
  return refused.has(name)
}

const isObject = ({ type, properties }: Json): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || isRecord(properties)
