import { createHash } from 'node:crypto'
import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, listOf, recordOf, textIn, textOf } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'
import { extrasOf } from '../shared/extras.ts'
import { effortOf, isOpenAi, type ReasoningModel, reasoningModelOf } from './reasoning.ts'
import type { Conversion } from './write-content.ts'
import { chatMessages } from './write-messages.ts'
import { toolSettings } from './write-tools.ts'

/** Fields that the parts of the conversion look after. What is none of them is dropped and listed. */
const knownFields = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
])

/** A request in Anthropic's format as one for `/chat/completions`. */
export function chatRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const degraded: Degradation[] = []
  const lose = (path: string, action: string): void => {
    degraded.push({ path, action })
  }
  // The tools behind these run at Anthropic: without them the model would be another one.
  if (listOf(request['mcp_servers']).length > 0) {
    throw invalid("mcp_servers: Anthropic's connector is not available at this model's provider")
  }
  for (const [field, value] of Object.entries(request)) {
    if (!knownFields.has(field) && value !== null) lose(field, 'dropped')
  }
  const model = reasoningModelOf(context)
  const takesFileUrls = context.deployment.provider === 'openrouter'
  const messages = chatMessages(request, { lose, takesFileUrls, openReasoning: context.reasoning.open })
  const tools = toolSettings(request, { lose, takesParallelSetting: model.takesParallelSetting })
  const effort = effortOf(request, model, { lose, hasTools: tools.tools !== undefined })
  return {
    path: '/chat/completions',
    body: {
      model: context.upstreamModel,
      messages,
      ...limitSettings(request, context),
      ...samplingSettings(request, { model, effort, lose }),
      ...tools,
      ...formatSettings(request, lose),
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...userSettings(request, context, lose),
      ...extrasOf(request),
      ...(context.stream && { stream: true, stream_options: { include_usage: true } }),
    },
    degraded,
  }
}

type Lose = Conversion['lose']

interface Sampling {
  readonly model: ReasoningModel
  readonly effort: string | undefined
  readonly lose: Lose
}

/** OpenAI takes no more. */
const maxStopSequences = 4

/** Temperature, top_p and stop, as far as the model takes them. */
function samplingSettings(request: Json, { model, effort, lose }: Sampling): Json {
  const isFixed = model.hasFixedSampling && effort !== 'none'
  const numbers = ['temperature', 'top_p'].flatMap(field => {
    const value = request[field]
    if (typeof value !== 'number') return []
    if (!isFixed) return [[field, value]]
    // 1 is what such a model uses anyway.
    if (value !== 1) lose(field, 'dropped')
    return []
  })
  if (request['top_k'] != null) lose('top_k', 'dropped')
  return { ...Object.fromEntries(numbers), ...stopSettings(request, model, lose) }
}

function stopSettings(request: Json, { hasFixedSampling }: ReasoningModel, lose: Lose): Json {
  const sequences = listOf(request['stop_sequences']).filter(sequence => typeof sequence === 'string')
  if (sequences.length === 0) return {}
  if (hasFixedSampling) {
    lose('stop_sequences', 'dropped')
    return {}
  }
  for (let index = maxStopSequences; index < sequences.length; index++) lose(`stop_sequences.${index}`, 'dropped')
  return { stop: sequences.slice(0, maxStopSequences) }
}

/** `response_format` for a request that asks for JSON of a schema. */
function formatSettings(request: Json, lose: Lose): Json {
  const config = recordOf(request['output_config'])
  for (const field of Object.keys(config)) {
    if (field !== 'format' && field !== 'effort' && config[field] !== null) lose(`output_config.${field}`, 'dropped')
  }
  const isNew = isRecord(config['format'])
  const format = recordOf(isNew ? config['format'] : request['output_format'])
  const { type, schema } = format
  if (type === undefined) return {}
  if (type === 'json_object') return { response_format: { type } }
  const path = isNew ? 'output_config.format' : 'output_format'
  if (type !== 'json_schema' || !isRecord(schema)) {
    lose(path, 'dropped')
    return {}
  }
  return { response_format: { type, json_schema: schemaFormat(format, schema, () => lose(path, 'not_strict')) } }
}

/** Strict as the client wants it, and where it says nothing, wherever the schema allows it. */
function schemaFormat({ name, description, strict }: Json, schema: Json, onOpen: () => void): Json {
  const isStrict = strict !== false && fitsStrictMode(schema)
  if (!isStrict && strict !== false) onOpen()
  return compact({
    name: textOf(name) || 'output',
    description: textIn(description),
    schema,
    strict: isStrict || undefined,
  })
}

/** OpenAI's strict mode wants objects closed, with all their properties required; else it refuses the request. */
function fitsStrictMode(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(fitsStrictMode)
  if (!isRecord(schema)) return true
  const { properties, required, additionalProperties } = schema
  if (isRecord(properties)) {
    const names = new Set(listOf(required))
    if (additionalProperties !== false || !Object.keys(properties).every(name => names.has(name))) return false
    return Object.values(properties).every(fitsStrictMode) && fitsStrictMode({ ...schema, properties: undefined })
  }
  if (schema['type'] === 'object' && additionalProperties !== false) return false
  return Object.entries(schema).every(([name, value]) => name === 'enum' || name === 'const' || fitsStrictMode(value))
}

/** OpenAI refuses longer names of users. */
const maxUserLength = 64
const takesUser = new Set(['openai', 'azure', 'openrouter'])

/** `user`, where it is known; some compatible servers refuse fields that they do not know. */
function userSettings(request: Json, { deployment }: CodecContext, lose: Lose): Json {
  const metadata = recordOf(request['metadata'])
  for (const field of Object.keys(metadata)) if (field !== 'user_id') lose(`metadata.${field}`, 'dropped')
  const user = textOf(metadata['user_id'])
  if (user === '') return {}
  if (!takesUser.has(deployment.provider)) {
    lose('metadata.user_id', 'dropped')
    return {}
  }
  if (user.length <= maxUserLength) return { user }
  lose('metadata.user_id', 'hashed')
  return { user: createHash('sha256').update(user).digest('hex') }
}

/** The limit of the answer, in the field that the upstream reads it from. */
const limitSettings = ({ max_tokens: limit }: Json, { deployment }: CodecContext): Json =>
  isOpenAi(deployment) ? { max_completion_tokens: limit } : { max_tokens: limit }
