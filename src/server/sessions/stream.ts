import type { ServerResponse } from 'node:http'
import type { SessionEvent } from '../../contract/events.ts'
import { sseFrame } from '../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import { pause } from '../platform/timers.ts'
import type { EventStore } from './event-store.ts'
import type { LiveEvents, Subscription } from './live-events.ts'
import type { Preview } from './remote-previews.ts'

interface StreamOptions {
  readonly store: EventStore
  readonly live: LiveEvents
  readonly sessionId: string
  /** The number after which to start; 0 is the beginning. */
  readonly after: number
  readonly withPreviews: boolean
  /** True when the session was deleted: its log does not grow any more. */
  readonly isOver: boolean
  /** Aborts when the server stops, and its reader resumes elsewhere; or when the reader's key is no longer valid. */
  readonly shutdown: AbortSignal
}

const pageSize = 200
const retryMs = 500

/**
 * Writes the log of a session from a position on, and goes on as it grows. Ends after `session.deleted`, when the reader
 * goes away or does not read for 30 s. Never more than one frame is buffered beyond the socket's own buffer.
 */
export async function writeEventStream(
  response: ServerResponse,
  requestId: string,
  options: StreamOptions,
): Promise<void> {
  const { live, sessionId, shutdown } = options
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, shutdown])
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  response.write('retry: 2000\n\n')

  const writer = new FrameWriter(response, signal)
  const onPreview = options.withPreviews ? (preview: Preview) => writer.offer(previewFrame(preview)) : undefined
  const subscription = live.subscribe(sessionId, onPreview)
  const heartbeat = setInterval(() => writer.offer(': keep-alive\n\n'), heartbeatMs)
  try {
    await follow({ ...options, subscription, signal, writer })
  } finally {
    clearInterval(heartbeat)
    subscription.close()
    response.end()
  }
}

interface Following extends Pick<StreamOptions, 'store' | 'sessionId' | 'isOver'> {
  readonly subscription: Subscription
  readonly signal: AbortSignal
  readonly writer: FrameWriter
  after: number
}

async function follow(state: Following): Promise<void> {
  while (!state.signal.aborted) {
    const events = state.subscription.take(state.after) ?? (await nextPage(state))
    for (const event of events ?? []) {
      if (!(await state.writer.write(eventFrame(event)))) return
      state.after = event.seq
      if (event.type === 'session.deleted') return
    }
    if (events?.length !== 0) continue
    if (state.isOver) return
    await state.subscription.wait(state.after, state.signal)
  }
}

/** The table's next page; undefined after a while when the database is away: the reader stays and tries again. */
async function nextPage({ store, sessionId, after, signal }: Following): Promise<SessionEvent[] | undefined> {
  try {
    return await store.page(sessionId, after, pageSize)
  } catch {
    await pause(retryMs, signal)
    return undefined
  }
}

const eventFrame = (event: SessionEvent): string =>
  sseFrame({ id: String(event.seq), event: event.type, data: JSON.stringify(event) })

const previewFrame = (preview: Preview): string => sseFrame({ event: preview.type, data: JSON.stringify(preview) })
