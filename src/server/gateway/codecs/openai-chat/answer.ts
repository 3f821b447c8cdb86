import { isRecord, type Json, listOf, recordOf } from '../../../platform/json.ts'
import { chatUsageOf } from '../../counting/chat-usage.ts'
import type { CodecContext } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { ChoiceReader, firstChoice, startOf } from './choice-reader.ts'
import { isProblem, problemInStream } from './problem.ts'

/** The events of a whole answer. */
export function answerEvents(body: unknown, context: CodecContext): readonly ModelEvent[] {
  if (!isRecord(body)) return [useless]
  if (isProblem(body)) return [problemInStream(body)]
  const choice = firstChoice(body['choices'])
  if (!choice || !isRecord(choice['message'])) return [useless]
  const start = startOf(body)
  const usage = chatUsageOf(body['usage'])
  const events: ModelEvent[] = start ? [start] : []
  if (usage) events.push({ type: 'usage', usage })
  const reader = new ChoiceReader(context)
  reader.read(numbered(choice), events)
  if (events.at(-1)?.type === 'error') return events
  reader.flush(events)
  events.push({ type: 'message_stop' })
  return events
}

/** Calls of a whole message have no index: each of them stands for itself. A whole answer has ended, said or not. */
function numbered(choice: Json): Json {
  const message = recordOf(choice['message'])
  const calls = listOf(message['tool_calls']).map((call, index) => ({ ...recordOf(call), index }))
  return { ...choice, finish_reason: choice['finish_reason'] || 'stop', message: { ...message, tool_calls: calls } }
}

const useless: ModelEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent an answer without a message',
}
