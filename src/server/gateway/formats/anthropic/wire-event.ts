import { sseFrame } from '../../../../contract/sse.ts'
import type { TokenCounts } from '../../tokens/token-counts.ts'

/** Every usage field that Anthropic sends. Clients break on missing ones. */
export interface WireUsage {
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
  readonly cache_creation: { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number }
  readonly output_tokens: number
  readonly service_tier: 'standard'
}

/** The counts as Anthropic's format spells them. */
export const wireUsage = (counts: TokenCounts): WireUsage => ({
  input_tokens: counts.input_tokens,
  cache_creation_input_tokens: counts.cache_write_5m_tokens + counts.cache_write_1h_tokens,
  cache_read_input_tokens: counts.cache_read_tokens,
  cache_creation: {
    ephemeral_5m_input_tokens: counts.cache_write_5m_tokens,
    ephemeral_1h_input_tokens: counts.cache_write_1h_tokens,
  },
  output_tokens: counts.output_tokens,
  service_tier: 'standard',
})

/** A content block as Anthropic's format spells it. */
export type WireBlock = Readonly<Record<string, unknown>> & { readonly type: string }

/** A whole answer in Anthropic's format. */
export interface WireMessage {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly WireBlock[]
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
  readonly usage: WireUsage
}

export type WireDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }

/** One event of Anthropic's stream. Source: Anthropic's Messages streaming. */
export type WireEvent =
  | { readonly type: 'message_start'; readonly message: WireMessage }
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: WireBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: WireDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | {
      readonly type: 'message_delta'
      readonly delta: { readonly stop_reason: string; readonly stop_sequence: string | null }
      readonly usage: WireUsage
    }
  | { readonly type: 'message_stop' }

/** An event as its frame of the stream. */
export function wireFrame(event: WireEvent): string {
  // Nearly all frames are deltas of text: they are put together without an object to walk.
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
    const text = JSON.stringify(event.delta.text)
    return `${textDeltaHead}${event.index},"delta":{"type":"text_delta","text":${text}}}\n\n`
  }
  return sseFrame({ event: event.type, data: JSON.stringify(event) })
}

const textDeltaHead = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":'
