import type { ModelFailure } from './model-call.ts'

/** The tries of one step so far: all have failed. */
interface Tries {
  readonly count: number
  readonly waitedMs: number
  /** Since the first try began, waits included. */
  readonly elapsedMs: number
}

const maxTries = 8
const maxMs = 10 * 60_000
const firstWaitMs = 1_000
const maxWaitMs = 30_000
/** A longer `Retry-After` counts as this one: the next refusal says it again. */
const maxToldMs = 60_000

/**
 * Milliseconds until the next try, or undefined when the failure is final: a random part of 1, 2, 4 ... 30 s behind the
 * time that was told, since all sessions of a key are told the same. `random` is from 0 to 1.
 */
export function waitAfter(failure: ModelFailure, tries: Tries, random: number): number | undefined {
  if (!failure.isPassing || tries.count >= maxTries) return undefined
  const backoffMs = random * Math.min(maxWaitMs, firstWaitMs * 2 ** (tries.count - 1))
  const waitMs = Math.min(failure.retryAfterMs ?? 0, maxToldMs) + backoffMs
  return Math.max(tries.elapsedMs, tries.waitedMs) + waitMs <= maxMs ? waitMs : undefined
}
