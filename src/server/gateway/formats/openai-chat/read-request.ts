import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf } from '../../../platform/json.ts'
import type { ClientFormat } from '../../core/client-format.ts'
import type { Degradation, OwnNames } from '../../core/degradations.ts'
import { textBlocks } from '../shared/content-parts.ts'
import { canonicalRequest, createConversation } from '../shared/conversation.ts'
import { extrasFor } from '../shared/extras.ts'
import { takesFileIds } from '../shared/model-traits.ts'
import {
  anthropicSettings,
  effortOfBudget,
  jsonHint,
  type Note,
  noteUnused,
  type Settings,
} from '../shared/settings.ts'
import { addChatMessages } from './read-messages.ts'
import { chatTools } from './read-tools.ts'
import { createChatWriter } from './write-answer.ts'

/** Client format of OpenAI's Chat Completions. */
export const chatClient: ClientFormat = (request, context) => {
  const { target, stream, model, requestId, createdAt } = context
  const degraded: Degradation[] = []
  const note: Note = (path, action = 'dropped') => void degraded.push({ path, action })
  checkServable(request)
  const isOpenAi = isOpenAiFormat(target.protocol)
  const { tools, choice, isForced, isLegacy, canSearch } = chatTools(request, target, note)
  const conversation = createConversation(note, isOpenAi)
  addChatMessages(request['messages'] as readonly unknown[], {
    conversation,
    note,
    takesFileIds: takesFileIds(target),
    takesMedia: target.protocol === 'gemini',
  })
  const extras = extrasFor(target, request)
  const paths = { effort: 'reasoning_effort', format: 'response_format' }
  const body = canonicalRequest(context, {
    settings: anthropicSettings(settingsOf(request, isForced), { target, note, paths }),
    conversation: conversation.finish(),
    hints: isOpenAi ? [] : textBlocks(jsonHint(request['response_format'], 'response_format', note)),
    tools,
    choice,
    isCached: !isAbsent(request['prompt_cache_key']) && !('prompt_cache_key' in extras),
    extras,
  })
  noteUnused(request, { used: canSearch ? usedBySearch : used, extras }, note)
  // `safety_identifier` replaces `user` and takes precedence.
  if (!isAbsent(request['safety_identifier']) && !isAbsent(request['user'])) note('user')
  const writer = createChatWriter({
    id: `chatcmpl-${requestId.slice(requestId.indexOf('_') + 1)}`,
    createdAt,
    model,
    stream,
    includesUsage: recordOf(request['stream_options'])['include_usage'] === true,
    isLegacy,
    originOf: tools.originOf,
  })
  return { body, degraded, ownNames: isAbsent(request['max_completion_tokens']) ? ownNames : newerNames, writer }
}

const ownNames: OwnNames = {
  stop_sequences: 'stop',
  thinking: 'reasoning_effort',
  'thinking.budget_tokens': 'reasoning_effort',
  'output_config.effort': 'reasoning_effort',
  'output_config.format': 'response_format',
  'tool_choice.disable_parallel_tool_use': 'parallel_tool_calls',
  'metadata.user_id': 'user',
  '*.input_schema': '.parameters',
  '*.source': '',
  '*.detail': '.image_url.detail',
}
const newerNames: OwnNames = { ...ownNames, max_tokens: 'max_completion_tokens' }

const settingsOf = (request: Json, isForced: boolean): Settings => ({
  temperature: request['temperature'],
  top_p: request['top_p'],
  top_k: request['top_k'],
  stop: stopsOf(request['stop']),
  maxTokens: limitOf(request),
  ...reasoningIn(request),
  format: request['response_format'],
  user: request['safety_identifier'] ?? request['user'],
  isForced,
})

type Reasoning = Pick<Settings, 'effort' | 'budget' | 'showsThinking'>

const noReasoning: Reasoning = { effort: 'none', showsThinking: false }

/** Reads `reasoning_effort`, else `thinking` in Anthropic's form, as LiteLLM accepts it, else OpenRouter's `reasoning`. */
function reasoningIn({ reasoning_effort: effort, thinking, reasoning }: Json): Reasoning {
  if (!isAbsent(effort)) return effort === 'none' ? noReasoning : { effort, showsThinking: true }
  const { type, budget_tokens: budget } = recordOf(thinking)
  if (type === 'disabled') return noReasoning
  if (type !== undefined)
    return typeof budget === 'number' ? budgeted(budget) : { effort: undefined, showsThinking: true }
  return isRecord(reasoning) ? routedReasoning(reasoning) : { effort: undefined, showsThinking: false }
}

const budgeted = (budget: number): Reasoning => ({ effort: effortOfBudget(budget), budget, showsThinking: true })

function routedReasoning({ effort, max_tokens: budget, enabled, exclude }: Json): Reasoning {
  if (effort === 'none' || enabled === false) return noReasoning
  const asked = typeof budget === 'number' ? budgeted(budget) : { effort: effort ?? 'medium' }
  return { ...asked, showsThinking: exclude !== true }
}

/** Rejects settings that cannot be dropped, because the answer would not be what the client requested. */
function checkServable({ n, modalities, audio }: Json): void {
  if (!isAbsent(n) && n !== 1) throw invalid('n must be 1: this model returns one answer per call')
  if (!isAbsent(audio) || (Array.isArray(modalities) && modalities.includes('audio')))
    throw invalid('modalities: audio output is not supported for this model')
}

function stopsOf(stop: unknown): readonly string[] {
  if (isAbsent(stop)) return []
  const list: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  return list.map(text => {
    if (typeof text !== 'string') throw invalid('stop must be a string or an array of strings')
    return text
  })
}

const limitOf = ({ max_completion_tokens: current, max_tokens: older }: Json): number => Number(current ?? older ?? 0)

const used: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'reasoning_effort',
  'reasoning',
  'thinking',
  'response_format',
  'user',
  'safety_identifier',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'modalities',
  'prompt_cache_key',
])
const usedBySearch: ReadonlySet<string> = new Set([...used, 'web_search_options'])
