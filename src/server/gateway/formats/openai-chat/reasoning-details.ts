import { isAbsent, isRecord, type Json, textIn } from '../../../platform/json.ts'
import { placed } from '../../core/degradations.ts'
import type { Block } from '../shared/content-parts.ts'
import type { Note } from '../shared/settings.ts'

/**
 * Format of details with signed thinking. Chat Completions has no field for it. OpenRouter's `reasoning_details` does,
 * and clients that support the field send it back. Source: OpenRouter, Reasoning Tokens.
 */
const format = 'anthropic-claude-v1'

interface Signed {
  readonly text: string
  readonly signature: string
  readonly index: number
}

/** Returns the detail for thinking with its signature. */
export const signedDetail = ({ text, signature, index }: Signed): Json => ({
  type: 'reasoning.text',
  text,
  signature,
  format,
  index,
})

/** Returns the detail for redacted thinking. */
export const encryptedDetail = (data: unknown, index: number): Json => ({
  type: 'reasoning.encrypted',
  data,
  format,
  index,
})

/** Converts the details at `path` to thinking blocks. Other details are recorded as dropped. */
export function thinkingBlocks(details: unknown, path: string, note: Note): readonly Block[] {
  if (isAbsent(details)) return []
  const list: readonly unknown[] = Array.isArray(details) ? details : [details]
  return list.flatMap((detail, at) => {
    const block = isRecord(detail) ? thinkingBlock(detail) : undefined
    if (!block) note(`${path}.${at}`)
    return block ? placed(block, `${path}.${at}`) : []
  })
}

function thinkingBlock(detail: Json): Block | undefined {
  // Details in other providers' formats are not accepted by Claude, and contain no signatures of this gateway.
  if (!isAbsent(detail['format']) && detail['format'] !== format) return undefined
  const [signature, data] = [textIn(detail['signature']), textIn(detail['data'])]
  if (detail['type'] === 'reasoning.text' && signature)
    return { type: 'thinking', thinking: textIn(detail['text']) ?? '', signature }
  return detail['type'] === 'reasoning.encrypted' && data ? { type: 'redacted_thinking', data } : undefined
}
