import { pause } from '../../platform/timers.ts'
import type { LiveEvents } from './live-events.ts'

interface Watch {
  readonly live: Pick<LiveEvents, 'subscribe'>
  readonly sessionId: string
  readonly signal: AbortSignal
  /** How long a lost hint goes unnoticed, in milliseconds. */
  readonly checkMs: number
}

/**
 * Looks again at every change of the session, and every `checkMs`, until the look finds something. Undefined when the
 * signal aborts before. Looks read the database, whose state is the truth; hints only say when.
 */
export async function lookUntil<T>(
  { live, sessionId, signal, checkMs }: Watch,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const subscription = live.subscribe(sessionId)
  try {
    while (!signal.aborted) {
      const settled = new AbortController()
      const either = AbortSignal.any([signal, settled.signal])
      // Listening begins before the look, so that no change falls in between.
      const change = subscription.change(either)
      const found = await look()
      if (found === undefined) await Promise.race([change, pause(checkMs, either)])
      settled.abort()
      if (found !== undefined) return found
    }
    return undefined
  } finally {
    subscription.close()
  }
}
