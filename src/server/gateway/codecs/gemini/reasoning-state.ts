import { isRecord, type Json, jsonOr, nonEmptyText } from '../../../platform/json.ts'

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
