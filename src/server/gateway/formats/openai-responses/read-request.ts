import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { isAbsent, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import type { ClientContext, ClientFormat, CountFormat } from '../../core/client-format.ts'
import type { Degradation, OwnNames } from '../../core/degradations.ts'
import { textBlocks } from '../shared/content-parts.ts'
import { canonicalRequest, createConversation } from '../shared/conversation.ts'
import { extrasFor } from '../shared/extras.ts'
import { takesFileIds } from '../shared/model-traits.ts'
import { anthropicSettings, jsonHint, type Note, noteUnused, type Settings } from '../shared/settings.ts'
import { createCompactedWriter, createCompactionWriter, requestsCompaction, summaryRequest } from './compaction.ts'
import { addInput } from './read-input.ts'
import { responseTools } from './read-tools.ts'
import { createResponseWriter } from './write-answer.ts'

/** Client format of OpenAI's Responses. Requests contain their whole input: stored responses are loaded before. */
export const responsesClient: ClientFormat = (request, context) => {
  if (!requestsCompaction(request)) return readResponse(request, context)
  const read = readResponse(summaryRequest(request), context, request)
  return { ...read, writer: createCompactionWriter(read.writer) }
}

/** Compaction for clients of OpenAI's Responses. */
export const compactionClient: ClientFormat = (request, context) => {
  if (isAbsent(request['input'])) throw invalid('input is required')
  const read = readResponse(summaryRequest(request), context)
  const { requestId, createdAt } = context
  const { input } = request
  return { ...read, writer: createCompactedWriter(read.writer, { key: keyOf(requestId), createdAt, input }) }
}

/** Reads a request. `shown` is the request that the response repeats. */
function readResponse(request: Json, context: ClientContext, shown = request): ReturnType<ClientFormat> {
  const { target, stream, model, requestId, createdAt } = context
  const degraded: Degradation[] = []
  const note: Note = (path, action = 'dropped') => void degraded.push({ path, action })
  checkServable(request)
  const isOpenAi = isOpenAiFormat(target.protocol)
  const { tools, choice, isForced } = responseTools(request, target, note)
  const conversation = createConversation(note, isOpenAi)
  conversation.addSystem(textBlocks(request['instructions']), 'instructions')
  addInput(request['input'], { conversation, note, takesFileIds: takesFileIds(target) })
  const extras = extrasFor(target, sharedSettings(request))
  const paths = { effort: 'reasoning.effort', format: 'text.format' }
  const body = canonicalRequest(context, {
    settings: anthropicSettings(settingsOf(request, isForced), { target, note, paths }),
    conversation: conversation.finish(),
    hints: isOpenAi ? [] : textBlocks(jsonHint(recordOf(request['text'])['format'], 'text.format', note)),
    tools,
    choice,
    isCached: !isAbsent(request['prompt_cache_key']) && !('prompt_cache_key' in extras),
    extras,
  })
  noteDropped(request, { extras, chain: context.chain }, note)
  const echo = repeatedFields(shown, context.chain)
  return {
    body,
    degraded,
    ownNames,
    writer: createResponseWriter({ key: keyOf(requestId), createdAt, model, stream, echo, originOf: tools.originOf }),
  }
}

const keyOf = (requestId: string): string => requestId.slice(requestId.indexOf('_') + 1)

const ownNames: OwnNames = {
  max_tokens: 'max_output_tokens',
  thinking: 'reasoning',
  'thinking.budget_tokens': 'reasoning.effort',
  'output_config.effort': 'reasoning.effort',
  'output_config.format': 'text.format',
  'tool_choice.disable_parallel_tool_use': 'parallel_tool_calls',
  'metadata.user_id': 'safety_identifier',
  '*.input_schema': '.parameters',
  '*.source': '',
  '*.id': '.call_id',
}

/** Token counting for clients of OpenAI's Responses. */
export const responsesCounts: CountFormat = {
  read(request, context) {
    const { writer, ...read } = responsesClient(request, context)
    return { ...read, problem: writer.problem }
  },
  write: inputTokens => ({ object: 'response.input_tokens', input_tokens: inputTokens }),
}

function settingsOf(request: Json, isForced: boolean): Settings {
  const { effort, summary, generate_summary: olderSummary } = recordOf(request['reasoning'])
  return {
    temperature: request['temperature'],
    top_p: request['top_p'],
    top_k: request['top_k'],
    stop: [],
    maxTokens: Number(request['max_output_tokens'] ?? 0),
    effort,
    showsThinking: !isAbsent(summary ?? olderSummary) && effort !== 'none',
    format: recordOf(request['text'])['format'],
    user: request['safety_identifier'] ?? request['user'],
    isForced,
  }
}

/** Rejects instructions that are not text, references to stored data, and background responses. */
function checkServable(request: Json): void {
  if (!isAbsent(request['instructions']) && typeof request['instructions'] !== 'string')
    throw invalid('instructions must be a string')
  for (const field of ['previous_response_id', 'conversation', 'prompt']) {
    if (!isAbsent(request[field])) throw invalid(`${field} is not supported; send the whole input instead`)
  }
  if (request['background'] === true)
    throw invalid('background must be false: only POST /v1/responses runs in the background')
}

/** Value of `include` that requests logprobs. */
const logprobs = 'message.output_text.logprobs'

/** Returns settings shared with other formats, by their names in Chat Completions. */
function sharedSettings(request: Json): Json {
  const wantsLogprobs = listOf(request['include']).includes(logprobs)
  const { top_logprobs: topLogprobs, ...others } = request
  return {
    ...others,
    verbosity: recordOf(request['text'])['verbosity'],
    ...(wantsLogprobs && { logprobs: true, top_logprobs: topLogprobs }),
  }
}

interface Carried extends Pick<ClientContext, 'chain'> {
  readonly extras: Json
}

function noteDropped(request: Json, { extras, chain }: Carried, note: Note): void {
  const { verbosity } = recordOf(request['text'])
  if (!isAbsent(verbosity) && verbosity !== 'medium' && !('verbosity' in extras)) note('text.verbosity')
  const carried = new Set<unknown>(['reasoning.encrypted_content', ...('logprobs' in extras ? [logprobs] : [])])
  for (const [at, part] of listOf(request['include']).entries()) if (!carried.has(part)) note(`include.${at}`)
  if (request['store'] === true && !chain?.isRetained) note('store', 'not_kept')
  noteUnused(request, { used, extras }, note)
  // `safety_identifier` replaces `user` and takes precedence.
  if (!isAbsent(request['safety_identifier']) && !isAbsent(request['user'])) note('user')
}

/** Returns the response fields that repeat the request, as OpenAI's do. */
export function repeatedFields(request: Json, chain: ClientContext['chain']): Json {
  const { effort = null, summary = null } = recordOf(request['reasoning'])
  return {
    instructions: textIn(request['instructions']) ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    max_tool_calls: null,
    metadata: request['metadata'] ?? {},
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: chain?.previousId ?? null,
    prompt_cache_key: request['prompt_cache_key'] ?? null,
    reasoning: { effort, summary },
    service_tier: 'default',
    store: chain?.isRetained ?? false,
    temperature: request['temperature'] ?? null,
    text: { format: { type: 'text' }, ...recordOf(request['text']) },
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: request['tools'] ?? [],
    top_p: request['top_p'] ?? null,
    truncation: 'disabled',
    user: request['user'] ?? null,
  }
}

const used: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_k',
  'reasoning',
  'text',
  'user',
  'safety_identifier',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'include',
  'store',
  'metadata',
  'prompt_cache_key',
  // Session and turn ids of Codex. Other upstreams do not use them.
  'client_metadata',
])
