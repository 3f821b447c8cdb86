import type { ServerResponse } from 'node:http'
import type { OpencodeSession } from '../../contract/sessions.ts'
import { sseFrame } from '../../contract/sse.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import { newId } from '../platform/ids.ts'
import { pause } from '../platform/timers.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { type BusEvent, tellsOfRecord } from './events.ts'
import type { News, SessionFeed } from './session-feed.ts'
import type { Place, Tellings, Told, ToldEvent, Wrap } from './telling.ts'

export interface BusDeps {
  readonly feed: Pick<SessionFeed, 'listen'>
  readonly tellings: Tellings
  /** For the lists that are read beside the stream. */
  readonly events: EventStore
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
  readonly wrap: Wrap
  /** Aborts when the server stops, or when the reader's key is no longer valid. */
  readonly shutdown: AbortSignal
}

interface Followed {
  readonly place: Place
  /** No run is open behind what was written. */
  isOver: boolean
  /** What was written: at times more than was heard of, as the tables have it before the hint comes. */
  after: number
  heard: number
}

/** Of one reader. */
type WaitingNews = News & { last: number }

const isAhead = ({ after, heard }: Followed): boolean => after > heard

const retryMs = 500
const maxFollowed = 200
/** Sessions of which a reader has not heard yet. */
const maxWaiting = 10_000

/** Writes one by one, and empties `left`: what a reader has yet to take is in its socket, and nowhere else. */
async function writeEach<T>(left: T[], write: (next: T) => Promise<boolean>): Promise<boolean> {
  while (left.length > 0) {
    if (!(await writeFirst(left, write))) return false
  }
  return true
}

/** Not async: whoever waits for it holds nothing. */
function writeFirst<T>(left: T[], write: (next: T) => Promise<boolean>): Promise<boolean> {
  return write(left.shift() as T)
}

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
  readonly #waiting = new Map<string, WaitingNews>()
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
    const waiting = this.#waiting.get(news.sessionId)
    // Changed in place: each hint reaches each reader, and most readers that are behind have the session already.
    if (waiting) waiting.last = news.last
    else this.#waiting.set(news.sessionId, { ...news })
    if (this.#waiting.size > maxWaiting) this.#cut()
    this.#wake()
  }

  async run(): Promise<void> {
    if (!(await this.#write({ type: 'server.connected', properties: {} }))) return
    while (!this.#writer.isOver) {
      const [news] = this.#waiting.values()
      if (!news) {
        this.#writer.caughtUp()
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
    for (const { place } of this.#followed.values()) place.leave()
    this.#followed.clear()
  }

  /** False when the reader is gone. */
  async #tell({ sessionId, isNew, first, last }: News): Promise<boolean> {
    if (isNew) {
      const created = { type: 'session.created', properties: { sessionID: sessionId } }
      if (!(await this.#write(created, sessionId))) return false
    }
    if (last === 0) return true
    const followed = await this.#caughtUp(sessionId, { first, last })
    if (!followed) return !this.#writer.isOver
    // What is forgotten too soon would be written again when it is heard of.
    if (followed.isOver && !isAhead(followed)) this.#forget(sessionId, followed)
    return true
  }

  /** Writes all up to `last`; undefined when the reader left before, or there was less. */
  async #caughtUp(sessionId: string, { first, last }: Pick<News, 'first' | 'last'>): Promise<Followed | undefined> {
    let followed = this.#followed.get(sessionId) ?? (await this.#follow(sessionId, first))
    while (followed && followed.after < last) {
      followed.heard = last
      const told = await this.#following(followed)
      if (told === undefined) {
        // Too far behind what the others read: from here on with a place of its own.
        this.#forget(sessionId, followed)
        followed = await this.#follow(sessionId, followed.after + 1)
      } else if (told.length === 0 || !(await this.#writeAll(sessionId, followed, told))) return undefined
    }
    if (followed) followed.heard = last
    return followed
  }

  #writeAll(sessionId: string, followed: Followed, told: Told[]): Promise<boolean> {
    return writeEach(told, ({ seq, events, isOver }) => {
      followed.after = seq
      followed.isOver = isOver
      return writeEach([...events], event => this.#writeTold(sessionId, event))
    })
  }

  /** Begins to follow a session right before event `first`; undefined when the reader leaves before. */
  async #follow(sessionId: string, first: number): Promise<Followed | undefined> {
    const onPreview = (events: readonly BusEvent[]) => {
      const mine = this.#followed.get(sessionId)
      // What is written now belongs behind what the reader has yet to get.
      const isBehind = !mine || mine.after < mine.heard || this.#waiting.has(sessionId)
      if (!isBehind) for (const event of events) this.offer(event)
    }
    const place = await this.#untilThere(() => this.#deps.tellings.follow(sessionId, first, onPreview))
    if (!place) return undefined
    const followed = { place, isOver: true, after: place.after, heard: first }
    const oldest =
      this.#followed.size < maxFollowed ? undefined : this.#followed.entries().find(([, it]) => !isAhead(it))
    if (oldest) this.#forget(...oldest)
    this.#followed.set(sessionId, followed)
    return followed
  }

  #forget(sessionId: string, { place }: Followed): void {
    place.leave()
    this.#followed.delete(sessionId)
  }

  /** Empty also when the reader leaves; undefined when the others are too far ahead. */
  async #following({ place, after, heard }: Followed): Promise<Told[] | undefined> {
    const read = async () => ({ told: await place.following(after, heard) })
    const answer = await this.#untilThere(read)
    return answer ? answer.told : []
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

  async #writeTold(sessionId: string, told: ToldEvent): Promise<boolean> {
    if (tellsOfRecord(told.event)) return this.#write(told.event, sessionId)
    return this.#writer.write(told.frame(this.#options.wrap))
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
