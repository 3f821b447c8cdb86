import { sseFrame } from '../../../src/contract/sse.ts'

/** A content block of a scripted model. */
export type ScriptedBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }

/** A whole answer in Anthropic's format, as the non-streamed call returns it. */
export interface ScriptedMessage {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly ScriptedBlock[]
  readonly stop_reason: string
  readonly stop_sequence: null
  readonly usage: Readonly<Record<string, unknown>> & { readonly input_tokens: number; readonly output_tokens: number }
}

/** Every usage field that Anthropic sends: clients break on missing ones. */
export const fullUsage = (inputTokens: number, outputTokens: number): ScriptedMessage['usage'] => ({
  input_tokens: inputTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: outputTokens,
  service_tier: 'standard',
})

/** Characters of a delta, about what a model sends at once. */
const deltaLength = 16

/** The event frames of `message` as a stream, in small deltas. */
export function* messageFrames(message: ScriptedMessage): Generator<string> {
  const { content, stop_reason, stop_sequence, usage } = message
  const opening = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  yield frame({ type: 'message_start', message: opening })
  yield frame({ type: 'ping' })
  for (const [index, block] of content.entries()) yield* blockFrames(index, block)
  yield frame({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence },
    usage: { output_tokens: usage.output_tokens },
  })
  yield frame({ type: 'message_stop' })
}

function* blockFrames(index: number, block: ScriptedBlock): Generator<string> {
  yield frame({ type: 'content_block_start', index, content_block: emptied(block) })
  for (const delta of deltasOf(block)) yield frame({ type: 'content_block_delta', index, delta })
  yield frame({ type: 'content_block_stop', index })
}

/** A block as its start event shows it: what the deltas bring is still missing. */
function emptied(block: ScriptedBlock): ScriptedBlock {
  switch (block.type) {
    case 'text':
      return { ...block, text: '' }
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
  }
}

function* deltasOf(block: ScriptedBlock): Generator<{ readonly type: string; readonly [field: string]: string }> {
  switch (block.type) {
    case 'text':
      for (const text of pieces(block.text)) yield { type: 'text_delta', text }
      return
    case 'thinking':
      for (const thinking of pieces(block.thinking)) yield { type: 'thinking_delta', thinking }
      yield { type: 'signature_delta', signature: block.signature }
      return
    case 'tool_use':
      for (const json of pieces(JSON.stringify(block.input))) yield { type: 'input_json_delta', partial_json: json }
  }
}

/** Cuts by code points: half a character would reach the client as a broken one. */
function* pieces(text: string): Generator<string> {
  const points = [...text]
  for (let at = 0; at < points.length; at += deltaLength) yield points.slice(at, at + deltaLength).join('')
}

const frame = (event: { readonly type: string; readonly [field: string]: unknown }): string =>
  sseFrame({ event: event.type, data: JSON.stringify(event) })
