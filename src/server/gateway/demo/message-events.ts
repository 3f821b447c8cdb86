import type { AnswerEvent, StopReason } from '../core/answer-event.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** Content block of the scripted model. */
export type ScriptedBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

/** Whole message of the scripted model. */
export interface ScriptedMessage {
  readonly id: string
  readonly model: string
  readonly content: readonly ScriptedBlock[]
  readonly stopReason: StopReason
  readonly usage: TokenCounts
}

/** Characters per delta, about as many as a real model sends. */
const deltaLength = 16

/** Yields the events of a message, with small deltas. */
export function* messageEvents({ id, model, content, stopReason, usage }: ScriptedMessage): Generator<AnswerEvent> {
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

/** Splits by code points, because half a character would be invalid at the client. */
function* pieces(text: string): Generator<string> {
  const points = [...text]
  for (let at = 0; at < points.length; at += deltaLength) yield points.slice(at, at + deltaLength).join('')
}
