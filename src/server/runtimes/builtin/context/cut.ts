import type { Transcript } from './transcript.ts'

/** End of the part of a conversation that a summary replaces. */
export interface Cut {
  /** Number of entries that the summary replaces. */
  readonly at: number
  /** Sequence number of the first event that stays; undefined when none stays. */
  readonly from: number | undefined
}

/**
 * Returns the earliest step from which the conversation has at most `retained` tokens; otherwise the newest step, if it has
 * at most `newest`. A step starts where no tool call is open, so that a call and its result stay together. Returns
 * undefined for an empty conversation.
 */
export function cutOf(
  transcript: Pick<Transcript, 'steps' | 'size' | 'tokensFrom'>,
  { retained, newest }: { readonly retained: number; readonly newest: number },
): Cut | undefined {
  const { steps, size } = transcript
  if (size === 0) return undefined
  const inside = steps.filter(({ at }) => at > 0 && at < size)
  const last = inside.at(-1)
  const fitting = inside.find(({ at }) => transcript.tokensFrom(at) <= retained)
  const step = fitting ?? (last && transcript.tokensFrom(last.at) <= newest ? last : undefined)
  return step ? { at: step.at, from: step.seq } : { at: size, from: undefined }
}
