import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** Totals so far of the counts that an upstream stated. They replace earlier totals and are never added. */
export type UsageUpdate = Partial<Omit<TokenCounts, 'estimated'>>

/** Why a message ended, in Anthropic's terms. */
export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'pause_turn' | 'refusal'

/** Start of a content block. `whole`: a block that is sent in one piece, such as `redacted_thinking`. */
export type BlockStart =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string }
  | { readonly type: 'whole'; readonly block: Readonly<Record<string, unknown>> & { readonly type: string } }

/** Log probabilities of a text's tokens, one entry each, as in OpenAI's formats. */
export type Logprobs = readonly Readonly<Record<string, unknown>>[]

/** Source of a text. */
export interface Citation {
  /** URL of a web page; undefined for any other source, such as a document of the request. */
  readonly url: string | undefined
  readonly title: string
  /** The citation in Anthropic's format, for its clients. */
  readonly own: Readonly<Record<string, unknown>>
}

/**
 * Event that a decoder reads in an upstream's answer. Anthropic's terms, in any order: blocks may overlap and may stay
 * open. The sequencer puts the events in order.
 */
export type UpstreamEvent =
  /** The upstream's id of the answer and name of the model, where stated. At most once; optional. */
  | { readonly type: 'message_start'; readonly id?: string; readonly model?: string; readonly usage?: UsageUpdate }
  /** `key` is the decoder's name of the block, unique in the message. Several blocks may be open at a time. */
  | { readonly type: 'block_start'; readonly key: string; readonly block: BlockStart }
  /** More of a text or thinking block, or of the JSON text of a tool's input. */
  | { readonly type: 'block_delta'; readonly key: string; readonly text: string; readonly logprobs?: Logprobs }
  /** The signature of a thinking block, or a part of it. */
  | { readonly type: 'block_signature'; readonly key: string; readonly signature: string }
  /** A source of the open text block. */
  | { readonly type: 'block_citation'; readonly key: string; readonly citation: Citation }
  /** The block is complete. Blocks that are still open when the message ends are closed by the sequencer. */
  | { readonly type: 'block_stop'; readonly key: string }
  | { readonly type: 'usage'; readonly usage: UsageUpdate }
  /** Why the answer ends. Does not end the message: usage may follow. */
  | { readonly type: 'stop'; readonly reason: StopReason; readonly sequence?: string }
  /** The text that follows says that the model declines to answer. */
  | { readonly type: 'declined' }
  /** Something that could not be translated. */
  | { readonly type: 'degraded'; readonly path: string; readonly action: string }
  /** The upstream reports that the answer is complete. Last event. */
  | { readonly type: 'message_stop' }
  /** The upstream reports a failure. Last event. `message` contains no secrets and hosts. */
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }

/**
 * Canonical event of an answer. Legal order: `message_start`; then blocks one after the other, each with start, deltas
 * and stop; then `message_stop`. An `error` may end the answer at any point, and a `ping` may occur anywhere after the
 * start.
 */
export type AnswerEvent =
  /** `usage` has the counts stated so far; the input may be an estimate. */
  | { readonly type: 'message_start'; readonly id: string; readonly model: string; readonly usage: TokenCounts }
  /** A block of type `whole` has no deltas. */
  | { readonly type: 'block_start'; readonly block: BlockStart }
  | { readonly type: 'block_delta'; readonly text: string; readonly logprobs?: Logprobs }
  | { readonly type: 'block_signature'; readonly signature: string }
  | { readonly type: 'block_citation'; readonly citation: Citation }
  | { readonly type: 'block_stop' }
  | {
      readonly type: 'message_stop'
      readonly reason: StopReason
      /** The stop sequence that the model wrote; null for any other reason. */
      readonly sequence: string | null
      readonly usage: TokenCounts
    }
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'ping' }
