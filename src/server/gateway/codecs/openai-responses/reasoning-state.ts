import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import type { ReasoningSeal } from '../../translated/codec.ts'

/** The non-empty texts of a reasoning item's `summary` or `content`. */
export const textsOf = (parts: unknown): readonly string[] =>
  recordsOf(parts)
    .map(part => textOf(part['text']))
    .filter(text => text !== '')

/**
 * The signature that carries a reasoning item to the client and back. Undefined for an item that could not be replayed:
 * nothing is stored upstream, so an id alone is of no use there.
 */
export function signatureOf(item: Json, seal: ReasoningSeal): string | undefined {
  const { id, encrypted_content: encrypted } = item
  const summary = textsOf(item['summary'])
  if (typeof encrypted === 'string' && encrypted !== '') return seal.seal(JSON.stringify({ id, summary, encrypted }))
  const content = textsOf(item['content'])
  return content.length === 0 ? undefined : seal.seal(JSON.stringify({ id, summary, content }))
}

/** The reasoning item inside a signature of ours for this provider; undefined for any other. */
export function reasoningItemOf(signature: unknown, seal: ReasoningSeal): Json | undefined {
  const state = typeof signature === 'string' && signature !== '' ? seal.open(signature) : undefined
  const parsed = state === undefined ? undefined : parse(state)
  if (!parsed) return undefined
  const { id, encrypted, summary, content } = parsed
  if (typeof encrypted !== 'string' && !Array.isArray(content)) return undefined
  return {
    type: 'reasoning',
    ...(typeof id === 'string' && { id }),
    summary: stringsOf(summary).map(text => ({ type: 'summary_text', text })),
    ...(content !== undefined && { content: stringsOf(content).map(text => ({ type: 'reasoning_text', text })) }),
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
  }
}

const stringsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(text => typeof text === 'string') : []

function parse(state: string): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(state)
    return isRecord(parsed) ? parsed : undefined
  } catch {
    // A state of another kind, such as one that an earlier version wrote: it is dropped like a foreign one.
    return undefined
  }
}
