import { isRecord, type Json, jsonOr, listOf, nonEmptyText } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Block } from '../shared/content-parts.ts'

type Memory = Pick<CodecContext, 'callSignatures' | 'deployment' | 'upstreamModel'>

/** Keeps the signature of a call, with the provider that gave it, since each one refuses the other's, and its model. */
export function rememberCall(memory: Memory, toolUseId: string, signature: string): void {
  const { callSignatures, deployment, upstreamModel } = memory
  callSignatures.remember(toolUseId, JSON.stringify([deployment.provider, upstreamModel, signature]))
}

/** The signature of a call, unless another provider gave it, or another model to one that reads no reasoning of others. */
export function recallCall(memory: Memory, toolUseId: string, readsReasoning: boolean): string | undefined {
  const { callSignatures, deployment, upstreamModel } = memory
  const kept = callSignatures.recall(toolUseId)
  if (kept === undefined) return undefined
  const [provider, model, signature] = JSON.parse(kept) as readonly [string, string, string]
  const isOurs = provider === deployment.provider && (readsReasoning || model === upstreamModel)
  return isOurs ? signature : undefined
}

/** Vertex refuses ids on calls and their responses. */
export const hasCallIds = ({ deployment }: Pick<CodecContext, 'deployment'>): boolean => deployment.google === undefined

/**
 * What a thinking block of ours carries for Gemini: the signature of its own thought and of the call right after it, the
 * signature of the text right before it, or a part that clients have no block for.
 */
export type ReasoningState =
  | { readonly at: 'thought'; readonly signature?: string; readonly call?: string }
  | { readonly at: 'text'; readonly signature: string }
  | { readonly at: 'part'; readonly part: Json }

/** The text to seal. */
export const writeState = (state: ReasoningState): string => JSON.stringify(state)

/** The state that `writeState` wrote; undefined for any other text. */
export function readState(text: string): ReasoningState | undefined {
  const state = jsonOr(text, undefined)
  if (!isRecord(state)) return undefined
  const signature = nonEmptyText(state['signature'])
  const call = nonEmptyText(state['call'])
  switch (state['at']) {
    case 'thought':
      return { at: 'thought', ...(signature !== undefined && { signature }), ...(call !== undefined && { call }) }
    case 'text':
      return signature === undefined ? undefined : { at: 'text', signature }
    case 'part':
      return isRecord(state['part']) ? { at: 'part', part: state['part'] } : undefined
    default:
      return undefined
  }
}

/** How every state of ours begins; its length keeps the base64 of it apart from what follows. */
const prefix = Buffer.from('syt1..')

/** The same as it stands in a signature. No provider's own one begins so. */
export const carrierStart = prefix.toString('base64')

/**
 * Thinking blocks as the signature of the part that follows them: clients keep that, but many drop the thoughts
 * themselves. Plain base64, since some clients read a signature as bytes.
 */
export const carrierOf = (blocks: readonly Block[]): string =>
  Buffer.concat([prefix, Buffer.from(JSON.stringify(blocks))]).toString('base64')

/** The thinking blocks in a signature of ours; undefined for any other. What they say is checked upstream. */
export function carriedBlocks(signature: string): readonly Block[] | undefined {
  if (!signature.startsWith(carrierStart)) return undefined
  // Clients that read bytes write them back in the alphabet for addresses; this reads both.
  const text = Buffer.from(signature, 'base64').subarray(prefix.length).toString()
  return listOf(jsonOr(text, undefined)).flatMap(block => (isRecord(block) ? thinkingBlock(block) : []))
}

function thinkingBlock({ type, thinking, signature, data }: Json): readonly Block[] {
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string')
    return [{ type, thinking, signature }]
  return type === 'redacted_thinking' && typeof data === 'string' ? [{ type, data }] : []
}
