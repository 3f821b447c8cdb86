import type { ServerResponse } from 'node:http'
import { sseFrame } from '../../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../../http/frame-writer.ts'
import type { WriteTurns } from '../../http/write-turns.ts'
import { pause } from '../../platform/timers.ts'
import { cursorOf, type FedEvent, type FeedFilter, type FeedPage, type FeedStore, type Place } from './feed-store.ts'
import type { LiveEvents } from './live-events.ts'

interface FeedOptions {
  readonly store: Pick<FeedStore, 'page'>
  readonly live: Pick<LiveEvents, 'anyChange'>
  readonly after: Place
  readonly filter: FeedFilter
  /** Aborts when the server stops, or when the reader's key becomes invalid. */
  readonly shutdown: AbortSignal
  /** Queue of the writes of all streams of the process. */
  readonly turns: WriteTurns
  /** Milliseconds after which a reader that does not read is disconnected; default 30,000. */
  readonly slowReaderMs?: number
}

/** Poll interval, in case a notification was lost. */
const checkMs = 2_000
/** Minimum time between two queries of a reader that is caught up or held back by an open transaction. */
const paceMs = 200
const retryMs = 500

/**
 * Writes the events of many sessions from a position on and follows new ones. Ends when the reader disconnects or does
 * not read for 30 s. The id of each frame, keep-alives included, is the cursor after which a reader resumes.
 */
export async function writeFeed(response: ServerResponse, requestId: string, options: FeedOptions): Promise<void> {
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const signal = AbortSignal.any([disconnected.signal, options.shutdown])
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  response.write('retry: 2000\n\n')
  const writer = new FrameWriter(response, signal, options)
  let { after } = options
  const heartbeat = setInterval(() => writer.offer(`id: ${cursorOf(after)}\n: keep-alive\n\n`), heartbeatMs)
  try {
    while (!signal.aborted) {
      const settled = new AbortController()
      const change = options.live.anyChange(AbortSignal.any([signal, settled.signal]))
      const page = await readPage(options, after)
      if (page && page.events.length > 0 && !(await writer.write(page.events.map(frameOf).join('')))) return
      if (page) after = page.reached
      if (!page?.hasMore) await waitForMore(page, { change, writer, signal })
      settled.abort()
    }
  } finally {
    clearInterval(heartbeat)
    writer.end()
  }
}

interface Waiting {
  readonly change: Promise<void>
  readonly writer: FrameWriter
  readonly signal: AbortSignal
}

/** Waits until more events may be available; `page` is undefined when the database is unreachable. */
async function waitForMore(page: FeedPage | undefined, { change, writer, signal }: Waiting): Promise<void> {
  if (!page) return pause(retryMs, signal)
  writer.caughtUp()
  const ended = new AbortController()
  if (!page.hasUnsettled) await Promise.race([change, pause(checkMs, AbortSignal.any([signal, ended.signal]))])
  ended.abort()
  await pause(paceMs, signal)
}

/** Returns undefined when the database is unreachable: the reader stays connected and the query is retried. */
async function readPage({ store, filter }: FeedOptions, after: Place): Promise<FeedPage | undefined> {
  try {
    return await store.page(after, filter)
  } catch {
    return undefined
  }
}

const frameOf = ({ place, event }: FedEvent): string =>
  sseFrame({ id: cursorOf(place), event: event.type, data: JSON.stringify(event) })
