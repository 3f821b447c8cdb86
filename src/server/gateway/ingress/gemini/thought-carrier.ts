import { isRecord, type Json, jsonOr, listOf } from '../../../platform/json.ts'
import type { Block } from '../content-parts.ts'

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
