import { isRecord, type Json, jsonOr, listOf, nonEmptyText } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Block } from '../shared/content-parts.ts'

/** Returns false for Vertex, which rejects ids of function calls and responses. */
export const hasCallIds = ({ deployment }: Pick<CodecContext, 'deployment'>): boolean => deployment.google === undefined

/**
 * Gemini state in the signature of a thinking block: the signatures of the thought and of the call that follows it, the
 * signature of the preceding text, or a part that has no block in client formats.
 */
export type ReasoningState =
  | { readonly at: 'thought'; readonly signature?: string; readonly call?: string }
  | { readonly at: 'text'; readonly signature: string }
  | { readonly at: 'part'; readonly part: Json }

/** Serialises a state for signing. */
export const writeState = (state: ReasoningState): string => JSON.stringify(state)

/** Parses a state written by `writeState`; undefined for any other text. */
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

/** Prefix of every carrier. Its length is a multiple of 3, so that its base64 is a prefix of the carrier's base64. */
const prefix = Buffer.from('syt1..')

/** The prefix in base64. Signatures of providers do not begin with it. */
export const carrierStart = prefix.toString('base64')

/**
 * Returns a carrier: thinking blocks as the signature of the part that follows them. Clients return signatures, but
 * many drop thoughts. Plain base64, because some clients decode signatures to bytes.
 */
export const carrierOf = (blocks: readonly Block[]): string =>
  Buffer.concat([prefix, Buffer.from(JSON.stringify(blocks))]).toString('base64')

/** Returns the thinking blocks in a carrier; undefined for any other signature. The upstream verifies them. */
export function carriedBlocks(signature: string): readonly Block[] | undefined {
  if (!signature.startsWith(carrierStart)) return undefined
  // Some clients re-encode the bytes as base64url. Buffer decodes both alphabets.
  const text = Buffer.from(signature, 'base64').subarray(prefix.length).toString()
  return listOf(jsonOr(text, undefined)).flatMap(block => (isRecord(block) ? thinkingBlock(block) : []))
}

function thinkingBlock({ type, thinking, signature, data }: Json): readonly Block[] {
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string')
    return [{ type, thinking, signature }]
  return type === 'redacted_thinking' && typeof data === 'string' ? [{ type, data }] : []
}
