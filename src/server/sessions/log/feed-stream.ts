import type { ServerResponse } from 'node:http'
import { sseFrame } from '../../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../../http/frame-writer.ts'
import { pause } from '../../platform/timers.ts'
import { cursorOf, type FedEvent, type FeedFilter, type FeedPage, type FeedStore, type Place } from './feed-store.ts'
import type { LiveEvents } from './live-events.ts'

interface FeedOptions {
  readonly store: Pick<FeedStore, 'page'>
  readonly live: Pick<LiveEvents, 'anyChange'>
  readonly after: Place
  readonly filter: FeedFilter
  /** Aborts when the server stops, or when the reader's key is no longer valid. */
  readonly shutdown: AbortSignal
  /** How long a reader may not read; 30,000 unless given. */
  readonly slowReaderMs?: number
}

/** How long a lost hint goes unnoticed. */
const checkMs = 2_000
/** How often a reader looks while much happens, or while an open transaction holds it back. */
const paceMs = 200
const retryMs = 500

/**
 * Writes the events of many sessions from a place on, and goes on as they grow. Ends when the reader goes away or does not read
 * for 30 s. Each frame, and each sign of life, has as its id where a reader goes on after it.
 */
export async function writeFeed(response: ServerResponse, requestId: string, options: FeedOptions): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, options.shutdown])
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  response.write('retry: 2000\n\n')
  const writer = new FrameWriter(response, signal, options.slowReaderMs)
  let { after } = options
  const heartbeat = setInterval(() => writer.offer(`id: ${cursorOf(after)}\n: keep-alive\n\n`), heartbeatMs)
  try {
    while (!signal.aborted) {
      const settled = new AbortController()
      const change = options.live.anyChange(AbortSignal.any([signal, settled.signal]))
      const page = await looked(options, after)
      if (page && page.events.length > 0 && !(await writer.write(page.events.map(frameOf).join('')))) return
      if (page) after = page.reached
      if (!page?.hasMore) await rest(page, { change, writer, signal })
      settled.abort()
    }
  } finally {
    clearInterval(heartbeat)
    writer.end()
  }
}

interface Resting {
  readonly change: Promise<void>
  readonly writer: FrameWriter
  readonly signal: AbortSignal
}

/** Until there may be more. Undefined: the database is away. */
async function rest(page: FeedPage | undefined, { change, writer, signal }: Resting): Promise<void> {
  if (!page) return pause(retryMs, signal)
  writer.caughtUp()
  const ended = new AbortController()
  if (!page.isHeldBack) await Promise.race([change, pause(checkMs, AbortSignal.any([signal, ended.signal]))])
  ended.abort()
  await pause(paceMs, signal)
}

/** Undefined when the database is away: the reader stays and tries again. */
async function looked({ store, filter }: FeedOptions, after: Place): Promise<FeedPage | undefined> {
  try {
    return await store.page(after, filter)
  } catch {
    return undefined
  }
}

const frameOf = ({ place, event }: FedEvent): string =>
  sseFrame({ id: cursorOf(place), event: event.type, data: JSON.stringify(event) })
