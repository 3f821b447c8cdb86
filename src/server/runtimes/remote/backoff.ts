import type { pause } from '../../platform/timers.ts'
import { RuntimeFailure } from '../runtime.ts'

const firstMs = 500
const maxDelayMs = 10_000

/** Growing delays: 0.5 s, doubling up to 10 s. */
export interface Backoff {
  /**
   * Waits for the next delay, at least `atLeastMs`. Returns false after `maxMs` in total, or when the signal aborts.
   */
  readonly wait: (atLeastMs?: number) => Promise<boolean>
  /** Starts again with the first delay. */
  readonly reset: () => void
}

interface Options {
  readonly wait: typeof pause
  readonly signal: AbortSignal
  /** Unlimited by default. */
  readonly maxMs?: number
}

export function createBackoff({ wait, signal, maxMs = Number.POSITIVE_INFINITY }: Options): Backoff {
  let nextMs = firstMs
  let leftMs = maxMs
  return {
    async wait(atLeastMs = 0) {
      const waitMs = Math.min(Math.max(nextMs, atLeastMs), leftMs)
      if (waitMs <= 0 || signal.aborted) return false
      leftMs -= waitMs
      nextMs = Math.min(nextMs * 2, maxDelayMs)
      await wait(waitMs, signal)
      return !signal.aborted
    },
    reset() {
      nextMs = firstMs
      leftMs = maxMs
    },
  }
}

const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** Reports whether the same call may succeed later: there was no response, or its status allows a retry. */
export const isPassing = (error: unknown): error is RuntimeFailure =>
  error instanceof RuntimeFailure && (error.status === undefined || passing.has(error.status))
