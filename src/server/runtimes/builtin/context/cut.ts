import type { Transcript } from './transcript.ts'

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
  said: Pick<Transcript, 'steps' | 'size' | 'tokensFrom'>,
  { kept, newest }: { readonly kept: number; readonly newest: number },
): Cut | undefined {
  const { steps, size } = said
  if (size === 0) return undefined
  const inside = steps.filter(({ at }) => at > 0 && at < size)
  const last = inside.at(-1)
  const fitting = inside.find(({ at }) => said.tokensFrom(at) <= kept)
  const step = fitting ?? (last && said.tokensFrom(last.at) <= newest ? last : undefined)
  return step ? { at: step.at, from: step.seq } : { at: size, from: undefined }
}
