import { pause } from '../../platform/timers.ts'
import type { LiveEvents, Subscription } from './live-events.ts'
import type { LogFrame } from './log-page.ts'
import { Pieces } from './pieces.ts'
import type { Preview } from './remote-previews.ts'

/** How a log is followed. */
export interface Following {
  readonly signal: AbortSignal
  /** Also yields answers piece by piece while they are generated. */
  readonly withTexts?: boolean
}

/** A position in the log of a session. */
interface Position {
  readonly sessionId: string
  /** Number of the last event that was read. */
  readonly after: number
}

const retryMs = 500

/**
 * Yields the events after a position in their order, until the log was purged or the signal aborts. Pieces of answers come at the
 * end of the log, after the events that say that the run runs.
 */
export async function* followLog(
  live: Pick<LiveEvents, 'subscribe' | 'generated'>,
  { sessionId, after }: Position,
  { signal, withTexts = false }: Following,
): AsyncGenerator<LogFrame | Preview, void> {
  const pieces = new Pieces()
  const onPreview = withTexts ? (preview: Preview) => pieces.add(preview) : undefined
  const subscription = live.subscribe(sessionId, { signal, onPreview })
  if (withTexts) for (const [id, text] of live.generated(sessionId)) pieces.addText(id, text)
  try {
    let last = after
    while (!signal.aborted) {
      const frames = await nextFrames(subscription, last, signal)
      if (frames === 'purged') return
      for (const frame of frames ?? []) {
        last = frame.seq
        yield frame
      }
      if (frames?.length !== 0) continue
      yield* pieces.take()
      await Promise.race([subscription.wait(last), pieces.wait()])
    }
  } finally {
    subscription.close()
  }
}

/** Returns the next frames; undefined, after a delay, while the database is unreachable. */
async function nextFrames(
  subscription: Subscription,
  after: number,
  signal: AbortSignal,
): Promise<readonly LogFrame[] | 'purged' | undefined> {
  try {
    return (await subscription.read(after)) ?? 'purged'
  } catch {
    await pause(retryMs, signal)
    return undefined
  }
}
