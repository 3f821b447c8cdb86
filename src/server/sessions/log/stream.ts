import type { ServerResponse } from 'node:http'
import { sseFrame } from '../../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../../http/frame-writer.ts'
import type { WriteTurns } from '../../http/write-turns.ts'
import { pause } from '../../platform/timers.ts'
import type { LiveEvents, Subscription } from './live-events.ts'
import { bytesOf, type LogFrame } from './log-page.ts'
import type { Preview } from './remote-previews.ts'

interface StreamOptions {
  readonly live: Pick<LiveEvents, 'subscribe'>
  readonly sessionId: string
  /** Number of the event after which the stream starts; 0 is the beginning. */
  readonly after: number
  readonly withPreviews: boolean
  /** True when the session was deleted, so its log no longer grows. */
  readonly isOver: boolean
  /** Aborts when the server stops, so the reader resumes elsewhere, or when the reader's key becomes invalid. */
  readonly shutdown: AbortSignal
  /** Queue of the writes of all streams of the process. */
  readonly turns: WriteTurns
  /** Milliseconds after which a reader that does not read is disconnected; default 30,000. */
  readonly slowReaderMs?: number
}

const retryMs = 500

/**
 * Writes the log of a session from a position on and follows new events. Ends after `session.deleted`, or when the
 * reader disconnects or does not read for 30 s. A reader has at most one page in memory, shared with the other readers
 * of the session; the next one is requested after the socket has accepted this one.
 */
export async function writeEventStream(
  response: ServerResponse,
  requestId: string,
  options: StreamOptions,
): Promise<void> {
  const { live, sessionId, shutdown } = options
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const signal = AbortSignal.any([disconnected.signal, shutdown])
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  response.write('retry: 2000\n\n')

  const writer = new FrameWriter(response, signal, options)
  const onPreview = options.withPreviews ? (preview: Preview) => writer.offer(previewFrame(preview)) : undefined
  const subscription = live.subscribe(sessionId, { onPreview, signal })
  const heartbeat = setInterval(() => writer.offer(': keep-alive\n\n'), heartbeatMs)
  try {
    await follow({ ...options, subscription, signal, writer })
  } finally {
    clearInterval(heartbeat)
    subscription.close()
    writer.end()
  }
}

interface Following extends Pick<StreamOptions, 'isOver'> {
  readonly subscription: Subscription
  readonly signal: AbortSignal
  readonly writer: FrameWriter
  after: number
}

async function follow(state: Following): Promise<void> {
  while (!state.signal.aborted) {
    const frames = await nextFrames(state)
    if (frames === 'gone') return
    if (!(await writeAll(state, frames ?? []))) return
    if (frames?.length !== 0) continue
    if (state.isOver) return
    state.writer.caughtUp()
    await state.subscription.wait(state.after)
  }
}

/** Returns false when the stream is over: the session was deleted, or the reader disconnected. */
async function writeAll(state: Following, frames: readonly LogFrame[]): Promise<boolean> {
  const end = frames.findIndex(({ type }) => type === 'session.deleted')
  const shown = end < 0 ? frames : frames.slice(0, end + 1)
  const last = shown.at(-1)
  if (!last) return true
  if (!(await state.writer.write(bytesOf(shown)))) return false
  state.after = last.seq
  return end < 0
}

/** Returns the next frames; undefined, after a delay, when the database is unreachable: the reader stays connected. */
async function nextFrames({
  subscription,
  after,
  signal,
}: Following): Promise<readonly LogFrame[] | 'gone' | undefined> {
  try {
    return (await subscription.read(after)) ?? 'gone'
  } catch {
    await pause(retryMs, signal)
    return undefined
  }
}

const previewFrame = (preview: Preview): string => sseFrame({ event: preview.type, data: JSON.stringify(preview) })
