import type { ModelFailure } from './model-call.ts'

/** The tries of one model request so far. */
export interface Tries {
  /** Answers that broke off. */
  readonly broken: number
  /** Refusals that said when to come back. */
  readonly refused: number
  readonly waitedMs: number
}

export const noTries: Tries = { broken: 0, refused: 0, waitedMs: 0 }

/** An answer that broke in the middle is asked for again this often. Reliability: Interrupted step. */
const maxRepeats = 2
/** How long one model request may wait in all; who is told to wait longer gives up. */
const maxWaitMs = 10 * 60_000
const maxExtraMs = 15_000

/**
 * Milliseconds to wait before the next try, or undefined when the failure is final. The time that was told is kept, and
 * grows by a random part with each refusal: all sessions of a key were told the same.
 */
export function waitAfter(
  failure: ModelFailure,
  { broken, refused, waitedMs }: Tries,
  random: number,
): number | undefined {
  if (failure.isRepeatable) return broken < maxRepeats ? 0 : undefined
  if (failure.retryAfterMs === undefined) return undefined
  const waitMs = failure.retryAfterMs + random * Math.min(maxExtraMs, 500 * 2 ** refused)
  return waitedMs + waitMs <= maxWaitMs ? waitMs : undefined
}

/** The tries with one more that failed so. */
export const afterTry = (failure: ModelFailure, tries: Tries, waitMs: number): Tries => ({
  broken: tries.broken + (failure.isRepeatable ? 1 : 0),
  refused: tries.refused + (failure.isRepeatable ? 0 : 1),
  waitedMs: tries.waitedMs + waitMs,
})
