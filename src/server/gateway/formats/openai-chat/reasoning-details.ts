import { isAbsent, isRecord, type Json, textIn } from '../../../platform/json.ts'
import { placed } from '../../core/degradations.ts'
import type { Block } from '../shared/content-parts.ts'
import type { Note } from '../shared/settings.ts'

/**
 * Chat Completions has no field for thinking that its model signed. OpenRouter's `reasoning_details` carries it, and
 * clients that know the field send it back. Source: OpenRouter, Reasoning Tokens.
 */
const format = 'anthropic-claude-v1'

interface Signed {
  readonly text: string
  readonly signature: string
  readonly index: number
}

/** Thinking with the signature that its model wants back. */
export const signedDetail = ({ text, signature, index }: Signed): Json => ({
  type: 'reasoning.text',
  text,
  signature,
  format,
  index,
})

/** Thinking that only its model reads. */
export const encryptedDetail = (data: unknown, index: number): Json => ({
  type: 'reasoning.encrypted',
  data,
  format,
  index,
})

/** The thinking blocks that the details of an assistant's message at `path` hold; notes each detail that is none. */
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
  // What another provider made means nothing to Claude, nor to the models whose thoughts this gateway sealed.
  if (!isAbsent(detail['format']) && detail['format'] !== format) return undefined
  const [signature, data] = [textIn(detail['signature']), textIn(detail['data'])]
  if (detail['type'] === 'reasoning.text' && signature)
    return { type: 'thinking', thinking: textIn(detail['text']) ?? '', signature }
  return detail['type'] === 'reasoning.encrypted' && data ? { type: 'redacted_thinking', data } : undefined
}
