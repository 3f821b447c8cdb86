import { type Json, textOf } from '../../../platform/json.ts'
import type { ModelEvent, StopReason } from '../../translated/model-event.ts'
import { readProblem } from './problem-text.ts'

/** `finish_reason` of OpenAI and of those who speak its protocol with words of their own. */
const reasons: Readonly<Record<string, StopReason>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  max_tokens: 'max_tokens',
  model_length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
  safety: 'refusal',
  sensitive: 'refusal',
}

/** Words that say that the answer is not whole. */
const faults = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource', 'malformed_function_call'])

interface Facts {
  readonly hasRefused: boolean
  readonly hasCalls: boolean
}

/** Why a choice with a finish reason ended: a stop, or an error where the upstream gave up. */
export function stopOf(choice: Json, { hasRefused, hasCalls }: Facts): ModelEvent {
  const finish = textOf(choice['finish_reason']).toLowerCase()
  if (faults.has(finish)) {
    const message = readProblem(choice['error']).message || `the upstream broke the answer off: ${finish}`
    return { type: 'error', code: 'upstream_unreachable', message }
  }
  if (hasRefused) return { type: 'stop', reason: 'refusal' }
  const reason = (Object.hasOwn(reasons, finish) ? reasons[finish] : undefined) ?? 'end_turn'
  if (reason === 'tool_use') return { type: 'stop', reason: hasCalls ? reason : 'end_turn' }
  return reason === 'end_turn' ? (stopSequenceOf(choice) ?? { type: 'stop', reason }) : { type: 'stop', reason }
}

/** OpenAI does not tell a stop string from any other stop; vLLM, SGLang and OpenRouter do, each in a field of its own. */
function stopSequenceOf(choice: Json): ModelEvent | undefined {
  const sequence = textOf(choice['stop_reason']) || textOf(choice['matched_stop'])
  if (sequence !== '') return { type: 'stop', reason: 'stop_sequence', sequence }
  return choice['native_finish_reason'] === 'stop_sequence' ? { type: 'stop', reason: 'stop_sequence' } : undefined
}
