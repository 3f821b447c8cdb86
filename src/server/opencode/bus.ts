import type { ServerResponse } from 'node:http'
import type { OpencodeSession } from '../../contract/sessions.ts'
import { sseFrame } from '../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import { newId } from '../platform/ids.ts'
import { pause } from '../platform/timers.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { type BusEvent, needsRecord } from './events.ts'
import type { SessionChange, SessionFeed } from './session-feed.ts'
import type { EncodedEvent, Place, SessionTranslations, TranslatedEvent, Wrap } from './session-translation.ts'

export interface BusDeps {
  readonly feed: Pick<SessionFeed, 'listen'>
  readonly translations: SessionTranslations
  /** Event store for the lists that are read next to the stream. */
  readonly events: EventStore
  /** Queue of the writes of all streams of the process. */
  readonly turns: WriteTurns
  /** Milliseconds after which a reader that does not read is disconnected; default 30,000. */
  readonly slowReaderMs?: number
}

interface BusOptions {
  /** Sends only sessions of this owner; undefined sends all. */
  readonly owner: string | undefined
  /** Returns the current record of a session. */
  readonly recordOf: (sessionId: string) => Promise<OpencodeSession>
  /** Takes over the response before its first byte is written. */
  readonly begin: () => void
  /** Builds the payload of an event. */
  readonly wrap: Wrap
  /** Aborts when the server stops, or when the reader's key becomes invalid. */
  readonly shutdown: AbortSignal
}

interface Followed {
  readonly place: Place
  /** True when no run is open after the last written event. */
  isOver: boolean
  /** Number of the last written event. It may be ahead of the notifications, because the tables are read. */
  after: number
  notified: number
}

/** Pending changes of one reader. */
type WaitingChange = SessionChange & { last: number }

const isAhead = ({ after, notified }: Followed): boolean => after > notified

const retryMs = 500
const maxFollowed = 200
/** Maximum number of sessions with pending changes of a reader. */
const maxWaiting = 10_000

/** Writes items one by one and removes them from `left`, so that unread data of a reader is only in its socket. */
async function writeEach<T>(left: T[], write: (next: T) => Promise<boolean>): Promise<boolean> {
  while (left.length > 0) {
    if (!(await writeFirst(left, write))) return false
  }
  return true
}

/** Not async, so that no reference to the item is kept while the write is pending. */
function writeFirst<T>(left: T[], write: (next: T) => Promise<boolean>): Promise<boolean> {
  return write(left.shift() as T)
}

/**
 * Writes the events of all sessions of a caller from now on. There is no replay: a client that reconnects must read the
 * lists. Disconnects a reader that does not read for 30 s or is behind in more than 10,000 sessions. Rejects before
 * `begin` when the database is unreachable.
 */
export async function writeBus(
  response: ServerResponse,
  requestId: string,
  { deps, options }: { deps: BusDeps; options: BusOptions },
): Promise<void> {
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const signal = AbortSignal.any([disconnected.signal, options.shutdown])
  const writer = new FrameWriter(response, signal, deps)
  const bus = new Bus({ deps, options, writer, signal, cut: () => response.destroy() })
  const leave = await deps.feed.listen(change => bus.notify(change))
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
  /** Closes the connection; the client then reconnects and reads the lists. */
  readonly cut: () => void
}

/**
 * The stream of one reader. Only event numbers are queued here; the events stay in the tables until they are written.
 */
class Bus {
  readonly #deps: BusDeps
  readonly #options: BusOptions
  readonly #writer: FrameWriter
  readonly #signal: AbortSignal
  readonly #cut: () => void
  /** Pending changes, by session. */
  readonly #waiting = new Map<string, WaitingChange>()
  readonly #followed = new Map<string, Followed>()
  #wake: () => void = () => undefined

  constructor({ deps, options, writer, signal, cut }: Parts) {
    this.#deps = deps
    this.#options = options
    this.#writer = writer
    this.#signal = signal
    this.#cut = cut
  }

  notify(change: SessionChange): void {
    const { owner } = this.#options
    if (owner !== undefined && change.ownerId !== owner) return
    const waiting = this.#waiting.get(change.sessionId)
    // Changed in place: each notification reaches each reader, and most readers that are behind have an entry already.
    if (waiting) waiting.last = change.last
    else this.#waiting.set(change.sessionId, { ...change })
    if (this.#waiting.size > maxWaiting) this.#cut()
    this.#wake()
  }

  async run(): Promise<void> {
    if (!(await this.#write({ type: 'server.connected', properties: {} }))) return
    while (!this.#writer.isOver) {
      const [change] = this.#waiting.values()
      if (!change) {
        this.#writer.caughtUp()
        await this.#waitForChange()
        continue
      }
      this.#waiting.delete(change.sessionId)
      if (!(await this.#writeChange(change))) return
    }
  }

  /** Writes an event that may be dropped. */
  offer(event: BusEvent): void {
    this.#writer.offer(this.#frameOf(event))
  }

  close(): void {
    for (const { place } of this.#followed.values()) place.leave()
    this.#followed.clear()
  }

  /** Returns false when the reader has disconnected. */
  async #writeChange({ sessionId, isNew, first, last }: SessionChange): Promise<boolean> {
    if (isNew) {
      const created = { type: 'session.created', properties: { sessionID: sessionId } }
      if (!(await this.#write(created, sessionId))) return false
    }
    if (last === 0) return true
    const followed = await this.#writeUpTo(sessionId, { first, last })
    if (!followed) return !this.#writer.isOver
    // A session that is dropped too early would be written again on its notification.
    if (followed.isOver && !isAhead(followed)) this.#drop(sessionId, followed)
    return true
  }

  /** Writes all events up to `last`; undefined when the reader disconnected or fewer events exist. */
  async #writeUpTo(
    sessionId: string,
    { first, last }: Pick<SessionChange, 'first' | 'last'>,
  ): Promise<Followed | undefined> {
    let followed = this.#followed.get(sessionId) ?? (await this.#follow(sessionId, first))
    while (followed && followed.after < last) {
      followed.notified = last
      const translated = await this.#following(followed)
      if (translated === undefined) {
        // Too far behind the other readers: continue with a separate position.
        this.#drop(sessionId, followed)
        followed = await this.#follow(sessionId, followed.after + 1)
      } else if (translated.length === 0 || !(await this.#writeAll(sessionId, followed, translated))) return undefined
    }
    if (followed) followed.notified = last
    return followed
  }

  #writeAll(sessionId: string, followed: Followed, translated: TranslatedEvent[]): Promise<boolean> {
    return writeEach(translated, ({ seq, events, isOver }) => {
      followed.after = seq
      followed.isOver = isOver
      return writeEach([...events], event => this.#writeEvent(sessionId, event))
    })
  }

  /** Starts to follow a session before event `first`; undefined when the reader disconnects first. */
  async #follow(sessionId: string, first: number): Promise<Followed | undefined> {
    const onPreview = (events: readonly BusEvent[]) => {
      const mine = this.#followed.get(sessionId)
      // A preview must not be sent before older events.
      const isBehind = !mine || mine.after < mine.notified || this.#waiting.has(sessionId)
      if (!isBehind) for (const event of events) this.offer(event)
    }
    const place = await this.#withRetry(() => this.#deps.translations.follow(sessionId, first, onPreview))
    if (!place) return undefined
    const followed = { place, isOver: true, after: place.after, notified: first }
    const oldest =
      this.#followed.size < maxFollowed ? undefined : this.#followed.entries().find(([, it]) => !isAhead(it))
    if (oldest) this.#drop(...oldest)
    this.#followed.set(sessionId, followed)
    return followed
  }

  #drop(sessionId: string, { place }: Followed): void {
    place.leave()
    this.#followed.delete(sessionId)
  }

  /** Empty also when the reader disconnects; undefined when the other readers are too far ahead. */
  async #following({ place, after, notified }: Followed): Promise<TranslatedEvent[] | undefined> {
    const read = async () => ({ translated: await place.following(after, notified) })
    const answer = await this.#withRetry(read)
    return answer ? answer.translated : []
  }

  /** Retries while the database is unreachable; undefined when the reader disconnects first. */
  async #withRetry<T>(read: () => Promise<T>): Promise<T | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await read()
      } catch {
        await pause(retryMs, this.#signal)
      }
    }
    return undefined
  }

  async #writeEvent(sessionId: string, translated: EncodedEvent): Promise<boolean> {
    if (needsRecord(translated.event)) return this.#write(translated.event, sessionId)
    return this.#writer.write(translated.frame(this.#options.wrap))
  }

  async #write(event: BusEvent, sessionId?: string): Promise<boolean> {
    if (sessionId === undefined || !needsRecord(event)) return this.#writer.write(this.#frameOf(event))
    const info = await this.#withRetry(() => this.#options.recordOf(sessionId))
    const properties = { ...event.properties, info }
    return info !== undefined && this.#writer.write(this.#frameOf({ ...event, properties }))
  }

  #frameOf(event: BusEvent): string {
    return sseFrame({ data: JSON.stringify(this.#options.wrap({ id: newId('evt'), ...event })) })
  }

  #waitForChange(): Promise<void> {
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
