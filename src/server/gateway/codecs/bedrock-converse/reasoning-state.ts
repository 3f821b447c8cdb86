import { isRecord, type Json } from '../../../platform/json.ts'

/** What a model other than Claude wants back beside its reasoning text. It travels sealed. */
export interface ReasoningState {
  readonly signature?: string
  /** Base64, as it came. */
  readonly redacted?: string
}

export const writeState = (state: ReasoningState): string => JSON.stringify(state)

/** The block of Converse that a `thinking` block was made of. */
export function restored(state: string, text: string): Json {
  const { signature, redacted } = parsed(state)
  if (redacted !== undefined) return { reasoningContent: { redactedContent: redacted } }
  return { reasoningContent: { reasoningText: { text, ...(signature !== undefined && { signature }) } } }
}

function parsed(state: string): ReasoningState {
  const value: unknown = JSON.parse(state)
  // The seal holds, so it is what `writeState` wrote.
  return isRecord(value) ? (value as ReasoningState) : {}
}
