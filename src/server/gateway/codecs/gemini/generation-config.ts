import { invalid } from '../../../platform/errors.ts'
import { countOf, isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { AnthropicRequest } from '../../translated/codec.ts'
import type { Losses } from './losses.ts'
import type { ModelTraits } from './model-traits.ts'
import { cleanSchema } from './schema.ts'
import { thinkingConfigOf } from './thinking.ts'

interface Options {
  readonly traits: ModelTraits
  readonly losses: Losses
  readonly hasTools: boolean
}

const maxStopSequences = 5

/** The `generationConfig` of a request. */
export function generationConfigOf(request: AnthropicRequest, options: Options): Json {
  const { traits, losses } = options
  const config = {
    maxOutputTokens: outputTokensOf(request, options),
    temperature: numberOf(request, 'temperature', losses),
    topP: numberOf(request, 'top_p', losses),
    topK: numberOf(request, 'top_k', losses),
    stopSequences: stopSequencesOf(request, losses),
    ...responseSchemaOf(request, options),
    thinkingConfig: thinkingConfigOf(request, traits, losses),
  }
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
}

function outputTokensOf({ max_tokens: max }: AnthropicRequest, { traits, losses }: Options): number | undefined {
  const asked = countOf(max)
  const most = traits.maxOutputTokens
  if (asked === undefined || most === undefined || asked <= most) return asked
  losses.note('max_tokens', 'lowered')
  return most
}

function numberOf(request: AnthropicRequest, field: string, losses: Losses): number | undefined {
  const value = request[field]
  if (typeof value === 'number') return value
  if (value !== undefined && value !== null) losses.note(field, 'dropped')
  return undefined
}

function stopSequencesOf(request: AnthropicRequest, losses: Losses): readonly string[] | undefined {
  const { stop_sequences: given } = request
  const sequences = Array.isArray(given) ? given.filter(text => nonEmptyText(text) !== undefined) : []
  if (sequences.length > maxStopSequences) losses.note('stop_sequences', 'cut')
  return sequences.length === 0 ? undefined : sequences.slice(0, maxStopSequences)
}

/** Where a request may state the form of its answer, the current field first. */
function formatOf({ output_config: config, output_format: old }: AnthropicRequest) {
  const format = isRecord(config) ? config['format'] : undefined
  return isRecord(format) ? { format, path: 'output_config.format' } : { format: old, path: 'output_format' }
}

function responseSchemaOf(request: AnthropicRequest, { traits, losses, hasTools }: Options): Json {
  noteOutputConfig(request, losses)
  const { format, path } = formatOf(request)
  if (!isRecord(format)) return {}
  if (format['type'] !== 'json_schema') throw invalid(`${path}.type must be json_schema`)
  if (hasTools && !traits.combinesTools) throw invalid(`${path}: this model cannot keep to a schema beside tools`)
  const { schema, isSimplified } = cleanSchema(format['schema'])
  if (isSimplified) losses.note(`${path}.schema`, 'simplified')
  return { responseMimeType: 'application/json', responseSchema: schema }
}

function noteOutputConfig({ output_config: config }: AnthropicRequest, losses: Losses): void {
  for (const field of isRecord(config) ? Object.keys(config) : []) {
    if (field !== 'effort' && field !== 'format') losses.note(`output_config.${field}`, 'dropped')
  }
}
