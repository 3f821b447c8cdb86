import { isRecord, type Json, listOf, textOf } from '../../../platform/json.ts'

/** The reasoning in a delta or message, in whichever of its fields it came; the fields repeat each other. */
export function reasoningTextOf(delta: Json): string {
  const content = delta['reasoning_content']
  if (typeof content === 'string' && content !== '') return content
  const reasoning = delta['reasoning']
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  const details = delta['reasoning_details']
  return Array.isArray(details) ? details.map(detailText).join('') : ''
}

/** The fields in which servers also take reasoning back. */
export type ReasoningField = 'reasoning_content' | 'reasoning'

/** Where a delta or message has its reasoning; undefined for kinds that cannot be said again. */
export function reasoningFieldOf(delta: Json): ReasoningField | undefined {
  const fields = ['reasoning_content', 'reasoning'] as const
  return fields.find(field => typeof delta[field] === 'string' && delta[field] !== '')
}

/** The field that a sealed state names. */
export const reasoningFieldIn = (state: string | undefined): ReasoningField | undefined =>
  state === 'reasoning_content' || state === 'reasoning' ? state : undefined

/** OpenRouter's kinds with text; the encrypted kind has none. */
const detailText = (detail: unknown): string =>
  isRecord(detail) ? textOf(detail['text']) || textOf(detail['summary']) : ''

/** The text of one part of a content list: Mistral sends lists, with its reasoning among them. */
export function contentPart(part: unknown): { readonly kind: 'text' | 'thinking'; readonly text: string } {
  if (!isRecord(part)) return { kind: 'text', text: textOf(part) }
  if (part['type'] !== 'thinking') return { kind: 'text', text: textOf(part['text']) }
  const { thinking } = part
  const text = typeof thinking === 'string' ? thinking : listOf(thinking).map(detailText).join('')
  return { kind: 'thinking', text }
}
