import { isRecord, type Json, jsonOr, recordOf, recordsOf, textOf } from '../../../platform/json.ts'
import type { ReasoningSeal } from '../../core/codec.ts'
import type { Block } from '../shared/content-parts.ts'
import { type Effort, efforts, type ModelTraits, type Note, nearestEffort } from './conversion.ts'

/**
 * The upstream's `reasoning`, from `thinking` and `output_config.effort`; undefined when the client asks for neither, or
 * the model does not reason. A summary is asked for unless the client wants none shown.
 */
export function reasoningField(request: Json, traits: ModelTraits, note: Note): Json | undefined {
  const thinking = isRecord(request['thinking']) ? request['thinking'] : undefined
  const effort = isRecord(request['output_config']) ? (request['output_config']['effort'] ?? undefined) : undefined
  if (!thinking && effort === undefined) return undefined
  const isOff = thinking?.['type'] === 'disabled'
  if (!traits.reasons) {
    if (thinking && !isOff) note('thinking', 'dropped')
    if (effort !== undefined) note('output_config.effort', 'dropped')
    return undefined
  }
  if (isOff) return { effort: settled({ wanted: 'none', path: 'thinking', isExact: true }, traits, note) }
  const wish = wishOf(thinking, effort, note)
  return {
    effort: settled(wish, traits, note),
    ...(thinking?.['display'] !== 'omitted' && { summary: 'auto' }),
  }
}

interface Wish {
  readonly wanted: Effort
  /** What is listed when the model takes another effort, or when the wish itself is a guess. */
  readonly path: string
  readonly isExact: boolean
}

/** A named effort wins over a budget; adaptive thinking without one is our choice. */
function wishOf(thinking: Json | undefined, effort: unknown, note: Note): Wish {
  const budget = thinking?.['budget_tokens']
  const named = efforts.find(known => known === effort)
  if (named) {
    if (budget !== undefined) note('thinking.budget_tokens', `effort_${named}`)
    return { wanted: named, path: 'output_config.effort', isExact: true }
  }
  if (effort !== undefined) note('output_config.effort', 'dropped')
  if (typeof budget !== 'number') return { wanted: 'medium', path: 'thinking', isExact: true }
  return { wanted: effortOf(budget), path: 'thinking.budget_tokens', isExact: false }
}

function effortOf(budgetTokens: number): Effort {
  if (budgetTokens < 8_000) return 'low'
  return budgetTokens < 24_000 ? 'medium' : 'high'
}

function settled({ wanted, path, isExact }: Wish, traits: ModelTraits, note: Note): Effort {
  const effort = nearestEffort(traits, wanted)
  if (!isExact || effort !== wanted) note(path, `effort_${effort}`)
  return effort
}

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

/** The reasoning item inside a signature that `open` reads; undefined for any other. */
export function reasoningItemOf(signature: unknown, open: ReasoningSeal['open']): Json | undefined {
  const state = typeof signature === 'string' && signature !== '' ? open(signature) : undefined
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

/** How every state of ours begins. No provider's own one does. */
export const thinkingPrefix = 'syr1.'

/**
 * A thinking block as the opaque text that Responses clients send back: nothing is stored here, and the model wants its
 * own words and their signature byte for byte.
 */
export const sealedThinking = (block: Block): string =>
  thinkingPrefix + Buffer.from(JSON.stringify(block)).toString('base64url')

/** The thinking block inside a text of ours; undefined for any other provider's. The signature is checked upstream. */
export function openedThinking(sealed: unknown): Block | undefined {
  if (typeof sealed !== 'string' || !sealed.startsWith(thinkingPrefix)) return undefined
  const { type, thinking, signature, data } = recordOf(
    jsonOr(Buffer.from(sealed.slice(thinkingPrefix.length), 'base64url').toString(), undefined),
  )
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string')
    return { type, thinking, signature }
  return type === 'redacted_thinking' && typeof data === 'string' ? { type, data } : undefined
}
