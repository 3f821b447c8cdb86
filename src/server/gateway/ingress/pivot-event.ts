import { noTokens, type TokenCounts } from '../counting/token-counts.ts'
import type { ModelEvent } from '../translated/model-event.ts'

/** Everything used so far. */
export interface PivotUsage extends TokenCounts {
  /** A part of the output tokens. */
  readonly reasoning_tokens: number
}

export const noUsage: PivotUsage = { ...noTokens, reasoning_tokens: 0 }

/** What an answer in Anthropic's format says, free of its framing. Blocks come one after the other. */
export type PivotEvent =
  | Exclude<ModelEvent, { readonly type: 'usage' | 'degraded' | 'message_start' }>
  | { readonly type: 'message_start'; readonly model: string | undefined }
  | { readonly type: 'usage'; readonly usage: PivotUsage }
  | { readonly type: 'ping' }
