import type { TokenCounts } from '../counting/token-counts.ts'
import type { ModelEvent } from '../translated/model-event.ts'

/** What an answer in Anthropic's format says, free of its framing. Blocks come one after the other. */
export type PivotEvent =
  | Exclude<ModelEvent, { readonly type: 'usage' | 'degraded' | 'message_start' }>
  | { readonly type: 'message_start'; readonly model: string | undefined }
  | { readonly type: 'usage'; readonly usage: TokenCounts }
  | { readonly type: 'ping' }
