import { isRecord, type Json, jsonOr, recordOf, recordsOf, textOf } from '../../../platform/json.ts'
import type { ReasoningSigner } from '../../core/codec.ts'
import type { Block } from '../shared/content-parts.ts'
import { type Effort, efforts, type ModelTraits, type Note, nearestEffort } from './conversion.ts'

/**
 * Converts `thinking` and `output_config.effort` to the upstream's `reasoning`. Undefined if the request has neither,
 * or the model does not reason. A summary is requested unless the client sets `display: 'omitted'`.
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
  if (isOff) return { effort: effortFor({ wanted: 'none', path: 'thinking', isExact: true }, traits, note) }
  const requested = effortRequestOf(thinking, effort, note)
  return {
    effort: effortFor(requested, traits, note),
    ...(thinking?.['display'] !== 'omitted' && { summary: 'auto' }),
  }
}

interface EffortRequest {
  readonly wanted: Effort
  /** Path of the degradation if the effort is changed or approximated. */
  readonly path: string
  readonly isExact: boolean
}

/** Returns the requested effort. A named effort takes precedence over a budget. The default is `medium`, our choice. */
function effortRequestOf(thinking: Json | undefined, effort: unknown, note: Note): EffortRequest {
  const budget = thinking?.['budget_tokens']
  const named = efforts.find(each => each === effort)
  if (named) {
    if (budget !== undefined) note('thinking.budget_tokens', `effort_${named}`)
    return { wanted: named, path: 'output_config.effort', isExact: true }
  }
  if (effort !== undefined) note('output_config.effort', 'dropped')
  if (typeof budget !== 'number') return { wanted: 'medium', path: 'thinking', isExact: true }
  return { wanted: effortOfBudget(budget), path: 'thinking.budget_tokens', isExact: false }
}

function effortOfBudget(budgetTokens: number): Effort {
  if (budgetTokens < 8_000) return 'low'
  return budgetTokens < 24_000 ? 'medium' : 'high'
}

function effortFor({ wanted, path, isExact }: EffortRequest, traits: ModelTraits, note: Note): Effort {
  const effort = nearestEffort(traits, wanted)
  if (!isExact || effort !== wanted) note(path, `effort_${effort}`)
  return effort
}

/** Returns the non-empty texts of a reasoning item's `summary` or `content`. */
export const textsOf = (parts: unknown): readonly string[] =>
  recordsOf(parts)
    .map(part => textOf(part['text']))
    .filter(text => text !== '')

/**
 * Returns a signature that contains a reasoning item, for the client to send back. Undefined for an item with only an
 * id, which cannot be replayed: responses are not stored upstream.
 */
export function signatureOf(item: Json, signer: ReasoningSigner): string | undefined {
  const { id, encrypted_content: encrypted } = item
  const summary = textsOf(item['summary'])
  if (typeof encrypted === 'string' && encrypted !== '') return signer.sign(JSON.stringify({ id, summary, encrypted }))
  const content = textsOf(item['content'])
  return content.length === 0 ? undefined : signer.sign(JSON.stringify({ id, summary, content }))
}

/** Returns the reasoning item in a signature that `open` accepts; undefined for any other. */
export function reasoningItemOf(signature: unknown, open: ReasoningSigner['stateOf']): Json | undefined {
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
    // A state in another format, such as that of an earlier version, is dropped like a foreign one.
    return undefined
  }
}

/** Prefix of encoded thinking. Content of providers does not begin with it. */
export const thinkingPrefix = 'syr1.'

/**
 * Encodes a thinking block as opaque text, which Responses clients send back. Nothing is stored here, and the model
 * needs its thinking and signature unchanged.
 */
export const encodedThinking = (block: Block): string =>
  thinkingPrefix + Buffer.from(JSON.stringify(block)).toString('base64url')

/** Decodes a thinking block; undefined for content of providers. The upstream verifies the signature. */
export function decodedThinking(encoded: unknown): Block | undefined {
  if (typeof encoded !== 'string' || !encoded.startsWith(thinkingPrefix)) return undefined
  const { type, thinking, signature, data } = recordOf(
    jsonOr(Buffer.from(encoded.slice(thinkingPrefix.length), 'base64url').toString(), undefined),
  )
  if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string')
    return { type, thinking, signature }
  return type === 'redacted_thinking' && typeof data === 'string' ? { type, data } : undefined
}
