import { jsonOr, recordOf } from '../../../platform/json.ts'
import type { Block } from '../content-parts.ts'

/** How every state of ours begins. No provider's own one does. */
const prefix = 'syr1.'

/**
 * A thinking block as the opaque text that Responses clients send back: nothing is stored here, and the model wants its
 * own words and their signature byte for byte.
 */
export const sealedThinking = (block: Block): string =>
  prefix + Buffer.from(JSON.stringify(block)).toString('base64url')

/** The thinking block inside a text of ours; undefined for any other provider's. The signature is checked upstream. */
export function openedThinking(sealed: unknown): Block | undefined {
  if (typeof sealed !== 'string' || !sealed.startsWith(prefix)) return undefined
  const { type, thinking, signature, data } = recordOf(
    jsonOr(Buffer.from(sealed.slice(prefix.length), 'base64url').toString(), undefined),
  )
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string')
    return { type, thinking, signature }
  return type === 'redacted_thinking' && typeof data === 'string' ? { type, data } : undefined
}
