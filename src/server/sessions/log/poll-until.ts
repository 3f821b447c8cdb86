import { pause } from '../../platform/timers.ts'
import type { LiveEvents } from './live-events.ts'

interface Watch {
  readonly live: Pick<LiveEvents, 'subscribe'>
  readonly sessionId: string
  readonly signal: AbortSignal
  /** Returns the poll interval in milliseconds, in case a notification was lost or time alone changes the result. */
  readonly checkMs: () => number
}

/**
 * Calls `check` at every change of the session and every `checkMs()`, until it returns a value. Returns undefined when
 * the signal aborts first. `check` must read the database: notifications are only hints.
 */
export async function pollUntil<T>(
  { live, sessionId, signal, checkMs }: Watch,
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const subscription = live.subscribe(sessionId)
  try {
    while (!signal.aborted) {
      const settled = new AbortController()
      const either = AbortSignal.any([signal, settled.signal])
      // Subscribes before the check, so that no change is missed in between.
      const change = subscription.change(either)
      const found = await check()
      if (found === undefined) await Promise.race([change, pause(checkMs(), either)])
      settled.abort()
      if (found !== undefined) return found
    }
    return undefined
  } finally {
    subscription.close()
  }
}
