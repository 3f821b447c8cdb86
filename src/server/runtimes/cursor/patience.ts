import type { pause } from '../../platform/timers.ts'

const firstMs = 500
const longestMs = 10_000

/** Waits that grow: 0.5 s, doubling to 10 s. */
export interface Patience {
  /** Waits once more, `atLeastMs` if that is longer. False when `maxMs` were waited in all, or the signal aborted. */
  readonly wait: (atLeastMs?: number) => Promise<boolean>
  /** Begins anew. */
  readonly renew: () => void
}

interface Terms {
  readonly wait: typeof pause
  readonly signal: AbortSignal
  /** No end unless given. */
  readonly maxMs?: number
}

export function createPatience({ wait, signal, maxMs = Number.POSITIVE_INFINITY }: Terms): Patience {
  let nextMs = firstMs
  let leftMs = maxMs
  return {
    async wait(atLeastMs = 0) {
      const waitMs = Math.min(Math.max(nextMs, atLeastMs), leftMs)
      if (waitMs <= 0 || signal.aborted) return false
      leftMs -= waitMs
      nextMs = Math.min(nextMs * 2, longestMs)
      await wait(waitMs, signal)
      return !signal.aborted
    },
    renew() {
      nextMs = firstMs
      leftMs = maxMs
    },
  }
}
