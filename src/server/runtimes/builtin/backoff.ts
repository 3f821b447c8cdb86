import type { ModelFailure } from './model-call.ts'

/** Failed tries of one step. */
interface Tries {
  readonly count: number
  readonly waitedMs: number
  /** Since the start of the first try, waits included. */
  readonly elapsedMs: number
}

const maxTries = 8
const maxMs = 10 * 60_000
const firstWaitMs = 1_000
const maxWaitMs = 30_000
/** A longer `Retry-After` is cut to this one: the next error response repeats it. */
const maxRetryAfterMs = 60_000

/**
 * Returns the milliseconds until the next try, or undefined when the failure is final. The delay is `Retry-After` plus
 * a random part of 1, 2, 4 ... 30 s, since all sessions of a key get the same `Retry-After`. `random` is from 0 to 1.
 */
export function retryDelay(failure: ModelFailure, tries: Tries, random: number): number | undefined {
  if (!failure.isPassing || tries.count >= maxTries) return undefined
  const backoffMs = random * Math.min(maxWaitMs, firstWaitMs * 2 ** (tries.count - 1))
  const waitMs = Math.min(failure.retryAfterMs ?? 0, maxRetryAfterMs) + backoffMs
  return Math.max(tries.elapsedMs, tries.waitedMs) + waitMs <= maxMs ? waitMs : undefined
}
