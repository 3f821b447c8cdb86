import { createHash } from 'node:crypto'
import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, listOf, recordOf, textIn, textOf } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'
import { extrasOf } from '../shared/extras.ts'
import { fitsStrict, withItems } from '../shared/openai-schema.ts'
import { messageRulesOf } from './message-rules.ts'
import { effortOf, isOpenAi, type ReasoningModel, reasoningModelOf } from './reasoning.ts'
import type { Conversion } from './write-content.ts'
import { chatMessages } from './write-messages.ts'
import { toolSettings } from './write-tools.ts'

/** Fields that are converted. Others are dropped and recorded. */
const knownFields: ReadonlySet<string> = new Set([
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

/** Converts a canonical request to one for `/chat/completions`. */
export function chatRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const degraded: Degradation[] = []
  const note = (path: string, action: string): void => {
    degraded.push({ path, action })
  }
  // Anthropic runs these tools. They cannot be dropped, because the model would answer differently without them.
  if (listOf(request['mcp_servers']).length > 0) {
    throw invalid("mcp_servers: Anthropic's MCP connector is not supported by the provider of this model")
  }
  for (const [field, value] of Object.entries(request)) {
    if (!knownFields.has(field) && value !== null) note(field, 'dropped')
  }
  const model = reasoningModelOf(context)
  const takesFileUrls = context.deployment.provider === 'openrouter'
  const rules = messageRulesOf(request, context)
  const messages = chatMessages(request, { note, takesFileUrls, openReasoning: context.reasoning.stateOf, rules })
  const tools = toolSettings(request, { note, takesParallelSetting: model.takesParallelSetting })
  const effort = effortOf(request, model, { note, hasTools: tools.tools !== undefined })
  return {
    path: '/chat/completions',
    body: {
      model: context.upstreamModel,
      messages,
      ...limitSettings(request, context),
      ...samplingSettings(request, { model, effort, note }),
      ...tools,
      ...formatSettings(request, note),
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...userSettings(request, context, note),
      ...extrasOf(request),
      ...(context.stream && { stream: true, stream_options: { include_usage: true } }),
    },
    degraded,
  }
}

type Note = Conversion['note']

interface Sampling {
  readonly model: ReasoningModel
  readonly effort: string | undefined
  readonly note: Note
}

/** OpenAI's limit. */
const maxStopSequences = 4

/** Returns temperature, top_p and stop, if the model accepts them. */
function samplingSettings(request: Json, { model, effort, note }: Sampling): Json {
  const isFixed = model.hasFixedSampling && effort !== 'none'
  const numbers = ['temperature', 'top_p'].flatMap(field => {
    const value = request[field]
    if (typeof value !== 'number') return []
    if (!isFixed) return [[field, value]]
    // 1 is the fixed value of such a model.
    if (value !== 1) note(field, 'dropped')
    return []
  })
  if (request['top_k'] != null) note('top_k', 'dropped')
  return { ...Object.fromEntries(numbers), ...stopSettings(request, model, note) }
}

function stopSettings(request: Json, { hasFixedSampling }: ReasoningModel, note: Note): Json {
  const sequences = listOf(request['stop_sequences']).filter(sequence => typeof sequence === 'string')
  if (sequences.length === 0) return {}
  if (hasFixedSampling) {
    note('stop_sequences', 'dropped')
    return {}
  }
  for (let index = maxStopSequences; index < sequences.length; index++) note(`stop_sequences.${index}`, 'dropped')
  return { stop: sequences.slice(0, maxStopSequences) }
}

/** Returns `response_format` for a request with an output format. */
function formatSettings(request: Json, note: Note): Json {
  const config = recordOf(request['output_config'])
  for (const field of Object.keys(config)) {
    if (field !== 'format' && field !== 'effort' && config[field] !== null) note(`output_config.${field}`, 'dropped')
  }
  const isNew = isRecord(config['format'])
  const format = recordOf(isNew ? config['format'] : request['output_format'])
  const { type, schema } = format
  if (type === undefined) return {}
  if (type === 'json_object') return { response_format: { type } }
  const path = isNew ? 'output_config.format' : 'output_format'
  if (type !== 'json_schema' || !isRecord(schema)) {
    note(path, 'dropped')
    return {}
  }
  return { response_format: { type, json_schema: schemaFormat(format, schema, () => note(path, 'not_strict')) } }
}

/** Returns the schema format. Strict, unless the client sets `strict: false` or the schema does not fit strict mode. */
function schemaFormat({ name, description, strict }: Json, schema: Json, onOpen: () => void): Json {
  const isStrict = strict !== false && fitsStrict(schema)
  if (!isStrict && strict !== false) onOpen()
  return compact({
    name: textOf(name) || 'output',
    description: textIn(description),
    schema: withItems(schema),
    strict: isStrict || undefined,
  })
}

/** Maximum length of `user` at OpenAI. */
const maxUserLength = 64
const takesUser: ReadonlySet<string> = new Set(['openai', 'azure', 'openrouter'])

/** Returns `user` for providers that support it. Some compatible servers reject unknown fields. */
function userSettings(request: Json, { deployment }: CodecContext, note: Note): Json {
  const metadata = recordOf(request['metadata'])
  for (const field of Object.keys(metadata)) if (field !== 'user_id') note(`metadata.${field}`, 'dropped')
  const user = textOf(metadata['user_id'])
  if (user === '') return {}
  if (!takesUser.has(deployment.provider)) {
    note('metadata.user_id', 'dropped')
    return {}
  }
  if (user.length <= maxUserLength) return { user }
  note('metadata.user_id', 'hashed')
  return { user: createHash('sha256').update(user).digest('hex') }
}

/** Returns the output limit in the field that the upstream supports. */
const limitSettings = ({ max_tokens: limit }: Json, { deployment }: CodecContext): Json =>
  isOpenAi(deployment) ? { max_completion_tokens: limit } : { max_tokens: limit }
