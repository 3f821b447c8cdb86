import type { AnswerEvent, StopReason } from '../core/answer-event.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** A content block that the scripted model can say. */
export type SpokenBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

/** A whole answer of the scripted model. */
export interface SpokenMessage {
  readonly id: string
  readonly model: string
  readonly content: readonly SpokenBlock[]
  readonly stopReason: StopReason
  readonly usage: TokenCounts
}

/** Characters of a delta, about what a model says at once. */
const deltaLength = 16

/** The events that say `message`, in small deltas. */
export function* messageEvents({ id, model, content, stopReason, usage }: SpokenMessage): Generator<AnswerEvent> {
  yield { type: 'message_start', id, model, usage: { ...usage, output_tokens: 1 } }
  yield { type: 'ping' }
  for (const block of content) {
    yield { type: 'block_start', block }
    for (const text of pieces(block.type === 'text' ? block.text : JSON.stringify(block.input)))
      yield { type: 'block_delta', text }
    yield { type: 'block_stop' }
  }
  yield { type: 'message_stop', reason: stopReason, sequence: null, usage }
}

/** Cuts by code points: half a character would reach the client as a broken one. */
function* pieces(text: string): Generator<string> {
  const points = [...text]
  for (let at = 0; at < points.length; at += deltaLength) yield points.slice(at, at + deltaLength).join('')
}
