import type { CodecContext } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { GeminiDecoder } from './decoder.ts'

/** The events of a whole answer, which is one chunk that holds everything. */
export function wholeAnswer(body: unknown, context: CodecContext): readonly ModelEvent[] {
  const decoder = new GeminiDecoder(context)
  const events = decoder.pushChunk(body)
  if (events.at(-1)?.type === 'error') return events
  const ending = decoder.end()
  if (ending.length > 0) return [...events, ...ending]
  return [...events, { type: 'error', code: 'upstream_unreachable', message: 'the upstream sent an incomplete answer' }]
}
