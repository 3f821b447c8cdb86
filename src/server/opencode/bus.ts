import type { ServerResponse } from 'node:http'
import type { OpencodeSession } from '../../contract/sessions.ts'
import { sseFrame } from '../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import { newId } from '../platform/ids.ts'
import { pause } from '../platform/timers.ts'
import type { EventStore } from '../sessions/event-store.ts'
import type { LiveEvents, Subscription } from '../sessions/live-events.ts'
import { eventOf, type LogFrame } from '../sessions/log-page.ts'
import { type BusEvent, EventMapping, tellsOfRecord } from './events.ts'
import type { FeedStore } from './feed-store.ts'
import { type News, type SessionFeed, together } from './session-feed.ts'

export interface BusDeps {
  readonly feed: Pick<SessionFeed, 'listen'>
  readonly store: Pick<FeedStore, 'contextOf'>
  /** For the lists that are read beside the stream. */
  readonly events: EventStore
  readonly live: Pick<LiveEvents, 'subscribe'>
  /** How long a reader may not read; 30,000 unless given. */
  readonly slowReaderMs?: number
}

interface BusOptions {
  /** The only owner whose sessions are told of; undefined: all. */
  readonly owner: string | undefined
  /** The record of a session as it is now. */
  readonly recordOf: (sessionId: string) => Promise<OpencodeSession>
  /** Takes the answer over from whoever would write it otherwise. */
  readonly begin: () => void
  /** What is sent for an event. */
  readonly wrap: (event: BusEvent & { readonly id: string }) => object
  /** Aborts when the server stops, or when the reader's key is no longer valid. */
  readonly shutdown: AbortSignal
}

interface Followed {
  readonly mapping: EventMapping
  readonly subscription: Subscription
  /** What was written: at times more than was heard of, as the tables have it before the hint comes. */
  after: number
  heard: number
}

const isAhead = ({ after, heard }: Followed): boolean => after > heard

const retryMs = 500
const maxFollowed = 200
/** Sessions of which a reader has not heard yet. */
const maxWaiting = 10_000

/**
 * Writes what happens to all sessions of a caller from now on. There is no replay: a client that was away reads the lists.
 * A reader that does not read for 30 s, or is behind in more than 10,000 sessions, is cut. Rejects before `begin` when the database is away.
 */
export async function writeBus(
  response: ServerResponse,
  requestId: string,
  { deps, options }: { deps: BusDeps; options: BusOptions },
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, options.shutdown])
  const writer = new FrameWriter(response, signal, deps.slowReaderMs)
  const bus = new Bus({ deps, options, writer, signal, cut: () => response.destroy() })
  const leave = await deps.feed.listen(news => bus.hear(news))
  options.begin()
  response.writeHead(200, { ...eventStreamHeaders, 'request-id': requestId })
  const heartbeat = setInterval(() => bus.offer({ type: 'server.heartbeat', properties: {} }), heartbeatMs)
  try {
    await bus.run()
  } finally {
    clearInterval(heartbeat)
    leave()
    bus.close()
    writer.end()
  }
}

interface Parts {
  readonly deps: BusDeps
  readonly options: BusOptions
  readonly writer: FrameWriter
  readonly signal: AbortSignal
  /** Ends the connection: the reader comes back, and reads the lists. */
  readonly cut: () => void
}

/** One reader. What it has not read yet waits in the tables; here only the numbers wait. */
class Bus {
  readonly #deps: BusDeps
  readonly #options: BusOptions
  readonly #writer: FrameWriter
  readonly #signal: AbortSignal
  readonly #cut: () => void
  /** News that were not written yet, by session. */
  readonly #waiting = new Map<string, News>()
  readonly #followed = new Map<string, Followed>()
  #wake: () => void = () => undefined

  constructor({ deps, options, writer, signal, cut }: Parts) {
    this.#deps = deps
    this.#options = options
    this.#writer = writer
    this.#signal = signal
    this.#cut = cut
  }

  hear(news: News): void {
    const { owner } = this.#options
    if (owner !== undefined && news.ownerId !== owner) return
    this.#waiting.set(news.sessionId, together(this.#waiting.get(news.sessionId), news))
    if (this.#waiting.size > maxWaiting) this.#cut()
    this.#wake()
  }

  async run(): Promise<void> {
    if (!(await this.#write({ type: 'server.connected', properties: {} }))) return
    while (!this.#signal.aborted) {
      const [news] = this.#waiting.values()
      if (!news) {
        await this.#woken()
        continue
      }
      this.#waiting.delete(news.sessionId)
      if (!(await this.#tell(news))) return
    }
  }

  /** Writes what may be lost. */
  offer(event: BusEvent): void {
    this.#writer.offer(this.#frameOf(event))
  }

  close(): void {
    for (const { subscription } of this.#followed.values()) subscription.close()
    this.#followed.clear()
  }

  /** False when the reader is gone. */
  async #tell({ sessionId, isNew, first, last }: News): Promise<boolean> {
    if (isNew) {
      const created = { type: 'session.created', properties: { sessionID: sessionId } }
      if (!(await this.#write(created, sessionId))) return false
    }
    if (last === 0) return true
    const followed = this.#followed.get(sessionId) ?? (await this.#follow(sessionId, first))
    followed.heard = last
    while (followed.after < last) {
      const frames = await this.#read(followed, last)
      if (frames.length === 0 || !(await this.#writeAll(sessionId, followed, frames))) return !this.#signal.aborted
    }
    // What is forgotten too soon would be written again when it is heard of.
    if (followed.mapping.isOver && !isAhead(followed)) this.#forget(sessionId, followed)
    return true
  }

  async #writeAll(sessionId: string, followed: Followed, frames: readonly LogFrame[]): Promise<boolean> {
    for (const frame of frames) {
      followed.after = frame.seq
      for (const mapped of followed.mapping.take(eventOf(frame))) {
        if (!(await this.#write(mapped, sessionId))) return false
      }
    }
    return true
  }

  /** Begins to follow a session right before event `first`, and reads what has to be known of it. */
  async #follow(sessionId: string, first: number): Promise<Followed> {
    const mapping = new EventMapping(sessionId)
    const subscription = this.#deps.live.subscribe(sessionId, preview => {
      if (this.#followed.has(sessionId)) for (const event of mapping.preview(preview)) this.offer(event)
    })
    const start = await this.#untilThere(() => this.#deps.store.contextOf(sessionId, first))
    const followed = { mapping, subscription, after: (start ?? first) - 1, heard: first }
    while (followed.after < first - 1) {
      const known = (await this.#read(followed, first)).filter(({ seq }) => seq < first)
      if (known.length === 0) break
      for (const frame of known) mapping.take(eventOf(frame))
      followed.after = known.at(-1)?.seq ?? first
    }
    const oldest =
      this.#followed.size < maxFollowed ? undefined : this.#followed.entries().find(([, it]) => !isAhead(it))
    if (oldest) this.#forget(...oldest)
    this.#followed.set(sessionId, followed)
    return followed
  }

  #forget(sessionId: string, { subscription }: Followed): void {
    subscription.close()
    this.#followed.delete(sessionId)
  }

  async #read({ subscription, after }: Followed, heardLast: number): Promise<readonly LogFrame[]> {
    return (await this.#untilThere(() => subscription.read(after, heardLast))) ?? []
  }

  /** Goes on trying while the database is away; undefined when the reader leaves before. */
  async #untilThere<T>(read: () => Promise<T>): Promise<T | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await read()
      } catch {
        await pause(retryMs, this.#signal)
      }
    }
    return undefined
  }

  async #write(event: BusEvent, sessionId?: string): Promise<boolean> {
    if (sessionId === undefined || !tellsOfRecord(event)) return this.#writer.write(this.#frameOf(event))
    const info = await this.#untilThere(() => this.#options.recordOf(sessionId))
    const properties = { ...event.properties, info }
    return info !== undefined && this.#writer.write(this.#frameOf({ ...event, properties }))
  }

  #frameOf(event: BusEvent): string {
    return sseFrame({ data: JSON.stringify(this.#options.wrap({ id: newId('evt'), ...event })) })
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      if (this.#waiting.size > 0 || this.#signal.aborted) return resolve()
      const done = () => {
        this.#signal.removeEventListener('abort', done)
        this.#wake = () => undefined
        resolve()
      }
      this.#wake = done
      this.#signal.addEventListener('abort', done, { once: true })
    })
  }
}
