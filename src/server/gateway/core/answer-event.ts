import type { ErrorCode } from '../../../contract/errors.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** Totals so far of the kinds that an upstream has stated; they replace what was known, and are never added. */
export type UsageUpdate = Partial<Omit<TokenCounts, 'estimated'>>

/** Why a message ended, in Anthropic's words. */
export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'pause_turn' | 'refusal'

/** A content block as it begins. `whole` is one that comes in a piece, such as `redacted_thinking`. */
export type BlockStart =
  | { readonly type: 'text' }
  | { readonly type: 'thinking' }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string }
  | { readonly type: 'whole'; readonly block: Readonly<Record<string, unknown>> & { readonly type: string } }

/** The chances of a text's tokens, an entry each, as both of OpenAI's formats have them. */
export type Logprobs = readonly Readonly<Record<string, unknown>>[]

/** A source that stands behind a text. */
export interface Citation {
  /** Of the web page; undefined for any other source, such as a document of the request. */
  readonly url: string | undefined
  readonly title: string
  /** As Anthropic's format has it, for its own clients. */
  readonly own: Readonly<Record<string, unknown>>
}

/**
 * What a decoder reads in an upstream's answer, in Anthropic's terms but free of grammar: blocks may overlap and may stay
 * open. The sequencer puts it in order.
 */
export type UpstreamEvent =
  /** The upstream's own id of the answer and name of the model, where it gives them. At most once; may be left out. */
  | { readonly type: 'message_start'; readonly id?: string; readonly model?: string; readonly usage?: UsageUpdate }
  /** `key` is the decoder's own name of the block, unique in the message. Several blocks may be open at a time. */
  | { readonly type: 'block_start'; readonly key: string; readonly block: BlockStart }
  /** More of a text or thinking block, or of the JSON text of a tool's input. */
  | { readonly type: 'block_delta'; readonly key: string; readonly text: string; readonly logprobs?: Logprobs }
  /** The signature of a thinking block, or a part of it. */
  | { readonly type: 'block_signature'; readonly key: string; readonly signature: string }
  /** A source of the text block that is being said. */
  | { readonly type: 'block_citation'; readonly key: string; readonly citation: Citation }
  /** The block is complete. Blocks that are still open when the message ends are closed by the sequencer. */
  | { readonly type: 'block_stop'; readonly key: string }
  | { readonly type: 'usage'; readonly usage: UsageUpdate }
  /** Why the answer ends. It does not end the message: usage may follow. */
  | { readonly type: 'stop'; readonly reason: StopReason; readonly sequence?: string }
  /** The text that follows is the model's own word that it declines to answer. */
  | { readonly type: 'declined' }
  /** Something that could not be carried over. */
  | { readonly type: 'degraded'; readonly path: string; readonly action: string }
  /** The upstream says that the answer is complete. Nothing follows. */
  | { readonly type: 'message_stop' }
  /** The upstream says that it failed. Nothing follows. `message` is free of secrets and hosts. */
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }

/**
 * The canonical events of an answer, in the one legal order: `message_start`, then blocks one after the other, each with its
 * start, its deltas and its stop, then `message_stop`. An `error` may end the answer at any place, and a `ping` may stand
 * anywhere behind the start.
 */
export type AnswerEvent =
  /** `usage` holds what is known at the start; the input may be an estimate. */
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
