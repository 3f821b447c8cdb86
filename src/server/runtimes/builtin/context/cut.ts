import type { Conversation } from '../conversation.ts'

/** Where the part of a conversation ends that a summary takes the place of. */
export interface Cut {
  /** How many entries the summary stands for. */
  readonly at: number
  /** Number of the first event that stays; undefined: nothing does. */
  readonly from: number | undefined
}

/**
 * The earliest step whose rest of the conversation has at most `kept` tokens; else the newest step, when it has at most `newest`.
 * A step begins where no tool call is open, so that a call and its result stay together. Undefined for a conversation of which
 * nothing would go.
 */
export function cutOf(
  conversation: Pick<Conversation, 'steps' | 'entries' | 'tokensFrom'>,
  { kept, newest }: { readonly kept: number; readonly newest: number },
): Cut | undefined {
  const { steps, entries } = conversation
  if (entries.length === 0) return undefined
  const inside = steps.filter(({ at }) => at > 0 && at < entries.length)
  const last = inside.at(-1)
  const fitting = inside.find(({ at }) => conversation.tokensFrom(at) <= kept)
  const step = fitting ?? (last && conversation.tokensFrom(last.at) <= newest ? last : undefined)
  return step ? { at: step.at, from: step.seq } : { at: entries.length, from: undefined }
}
