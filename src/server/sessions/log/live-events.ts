import type { SessionEvent } from '../../../contract/events.ts'
import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { EventStore } from './event-store.ts'
import { eventsChannel, type LogFrame, type LogPage, pageOf } from './log-page.ts'
import { PageCache } from './page-cache.ts'
import { type Preview, RemotePreviews } from './remote-previews.ts'

/** One reader of a session's log. */
export interface Subscription {
  /**
   * Returns the events that follow `after`: at most a page, from the cache that readers share, or from the table, which
   * is queried once for all readers at the same position. Empty at the end of the log, undefined when the log was
   * purged. `knownLast` is a number that the log is known to have reached. Rejects with `unavailable`.
   */
  read(after: number, lastSeen?: number): Promise<readonly LogFrame[] | undefined>
  /** Resolves when there may be events after `after`, or when the subscription's signal aborts. */
  wait(after: number): Promise<void>
  /** Resolves at the next change of the session, or when the signal aborts. */
  change(signal: AbortSignal): Promise<void>
  close(): void
}

interface Deps {
  readonly store: Pick<EventStore, 'boundedPage' | 'lastSeqs'>
  readonly notifications: Notifications
  /** Identifies this process among the replicas. */
  readonly owner: string
  readonly log: Log
}

/** Options of a reader. */
interface Subscriber {
  readonly onPreview?: ((preview: Preview) => void) | undefined
  /** Ends every wait. Only one listener is added per stream, since events come by the thousand. */
  readonly signal?: AbortSignal | undefined
}

interface Reader {
  wake: () => void
  readonly onPreview: ((preview: Preview) => void) | undefined
}

/** A session with readers in this process, and their shared state. */
interface Followed {
  readonly id: string
  readonly readers: Set<Reader>
  /** Highest known event number. */
  last: number
  /** True once the table was read; from then on `last` is kept current by notifications and polls. */
  isLoaded: boolean
  /** Queries in progress, by the number after which they start. */
  readonly reads: Map<number, Promise<readonly LogFrame[] | undefined>>
  /** What a run of another process is generating. */
  readonly texts: Texts
}

/** Texts so far, by event id. */
type Texts = Map<string, string>

const pollMs = 2_000

/**
 * Notifies the readers of this process of new events: at once for writes of this process, by NOTIFY for those of other
 * processes, and by a poll every 2 s in case a notification was lost.
 */
export class LiveEvents {
  readonly #followed = new Map<string, Followed>()
  readonly #pages = new PageCache()
  readonly #store: Deps['store']
  readonly #log: Log
  readonly #stopPolling: () => Promise<void>
  readonly #remote: RemotePreviews
  /** Texts that runs of this process are generating, by session. */
  readonly #generated = new Map<string, Texts>()
  /** Readers that wait for a change of any session. */
  readonly #anyListeners = new Set<() => void>()

  constructor({ store, notifications, owner, log }: Deps) {
    this.#store = store
    this.#log = log
    this.#remote = new RemotePreviews({
      notifications,
      owner,
      watched: () => this.#previewed(),
      generated: sessionId => this.#generated.get(sessionId) ?? none,
      deliver: (sessionId, preview) => this.#receive(sessionId, preview),
    })
    notifications.on(eventsChannel, hint => this.#onHint(hint))
    notifications.onReconnect(() => void this.#catchUp())
    this.#stopPolling = every(pollMs, () => this.#catchUp())
  }

  /** Number of open readers. */
  get readerCount(): number {
    let count = 0
    for (const { readers } of this.#followed.values()) count += readers.size
    return count
  }

  subscribe(sessionId: string, { onPreview, signal }: Subscriber = {}): Subscription {
    const reader: Reader = { wake: () => undefined, onPreview }
    const onAbort = () => reader.wake()
    signal?.addEventListener('abort', onAbort, { once: true })
    const followed = this.#followed.get(sessionId) ?? newFollowed(sessionId)
    this.#followed.set(sessionId, followed)
    const isFirst = !hasPreviewReader(followed)
    followed.readers.add(reader)
    if (onPreview) this.#remote.announce(sessionId, { isFirst })
    return {
      read: (after, lastSeen) => this.#read(followed, after, lastSeen),
      wait: after => (followed.last > after || signal?.aborted ? Promise.resolve() : nextWake(reader)),
      change: signal => woken(reader, signal),
      close: () => {
        followed.readers.delete(reader)
        signal?.removeEventListener('abort', onAbort)
        if (followed.readers.size > 0 || this.#followed.get(sessionId) !== followed) return
        this.#followed.delete(sessionId)
        this.#pages.forget(sessionId)
      },
    }
  }

  /** Delivers stored events to the readers of this process. */
  publish(sessionId: string, events: readonly SessionEvent[]): void {
    this.#forgetGenerated(sessionId, events)
    const followed = this.#followed.get(sessionId)
    const last = events.at(-1)?.seq
    if (!followed || last === undefined) return
    // Before the first read a reader only waits for changes, so the page need not be cached.
    if (followed.isLoaded) this.#cache(followed, pageOf(sessionId, events))
    followed.last = Math.max(followed.last, last)
    wake(followed)
  }

  /** Delivers a preview to the readers that requested previews. */
  preview(sessionId: string, preview: Preview): void {
    const texts = this.#generated.get(sessionId) ?? new Map<string, string>()
    this.#generated.set(sessionId, texts)
    addTo(texts, preview)
    this.#deliver(sessionId, preview)
    this.#remote.send(sessionId, preview)
  }

  /** Returns the texts so far of the answers that a run is generating, by event id; of another process once it has readers here. */
  generated(sessionId: string): ReadonlyMap<string, string> {
    return this.#generated.get(sessionId) ?? this.#followed.get(sessionId)?.texts ?? none
  }

  /** Must be called when a run of this process ends: answers that were not stored are dropped. */
  endPreviews(sessionId: string): void {
    this.#generated.delete(sessionId)
  }

  /** Resolves at the next change of any session, or when the signal aborts. */
  anyChange(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal.aborted) return resolve()
      const done = () => {
        this.#anyListeners.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#anyListeners.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  async stop(): Promise<void> {
    await Promise.all([this.#stopPolling(), this.#remote.stop()])
    for (const followed of this.#followed.values()) wake(followed)
  }

  /** Takes a preview of another process. */
  #receive(sessionId: string, preview: Preview): void {
    const followed = this.#followed.get(sessionId)
    if (followed) addTo(followed.texts, preview)
    this.#deliver(sessionId, preview)
  }

  #deliver(sessionId: string, preview: Preview): void {
    for (const { onPreview } of this.#followed.get(sessionId)?.readers ?? []) onPreview?.(preview)
  }

  #forgetGenerated(sessionId: string, events: readonly SessionEvent[]): void {
    const texts = this.#generated.get(sessionId)
    if (!texts) return
    forget(texts, events)
    if (texts.size === 0) this.#generated.delete(sessionId)
  }

  *#previewed(): Generator<string> {
    for (const [sessionId, followed] of this.#followed) if (hasPreviewReader(followed)) yield sessionId
  }

  /** `hint` is a session id and the highest number in its log. */
  #onHint(hint: string): void {
    const [sessionId = '', last] = hint.split(' ')
    for (const wakeReader of this.#anyListeners) wakeReader()
    this.#advance(sessionId, Number(last))
  }

  #advance(sessionId: string, last: number): void {
    const followed = this.#followed.get(sessionId)
    if (!followed || last <= followed.last) return
    followed.last = last
    wake(followed)
  }

  async #read(followed: Followed, after: number, lastSeen = 0): Promise<readonly LogFrame[] | undefined> {
    followed.last = Math.max(followed.last, lastSeen)
    const page = this.#pages.find(followed.id, after + 1)
    if (page) return page.frames.slice(after + 1 - page.first)
    if (followed.isLoaded && followed.last <= after) return []
    return followed.reads.get(after) ?? this.#readTable(followed, after)
  }

  #readTable(followed: Followed, after: number): Promise<readonly LogFrame[] | undefined> {
    const reading = this.#load(followed, after).finally(() => followed.reads.delete(after))
    followed.reads.set(after, reading)
    return reading
  }

  async #load(followed: Followed, after: number): Promise<readonly LogFrame[] | undefined> {
    const found = await this.#store.boundedPage(followed.id, after)
    const page = found && pageOf(followed.id, found.events)
    if (!found || (!page && found.last > after)) return undefined
    followed.isLoaded = true
    forget(followed.texts, found.events)
    this.#cache(followed, page)
    this.#advance(followed.id, found.last)
    return page?.frames ?? []
  }

  #cache(followed: Followed, page: LogPage | undefined): void {
    if (page && this.#followed.get(followed.id) === followed) this.#pages.add(page)
  }

  async #catchUp(): Promise<void> {
    const watched = [...this.#followed.keys()]
    if (watched.length === 0) return
    try {
      for (const { id, last } of await this.#store.lastSeqs(watched)) this.#advance(id, last)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'cannot read new events; retrying in the next poll')
    }
  }
}

const none: ReadonlyMap<string, string> = new Map()

const newFollowed = (id: string): Followed => ({
  id,
  readers: new Set(),
  last: 0,
  isLoaded: false,
  reads: new Map(),
  texts: new Map(),
})

const hasPreviewReader = ({ readers }: Followed): boolean => [...readers].some(({ onPreview }) => onPreview)

/** An answer that starts again is sent from its beginning. */
function addTo(texts: Texts, preview: Preview): void {
  if (preview.type === 'event_start') texts.delete(preview.event.id)
  else texts.set(preview.event_id, (texts.get(preview.event_id) ?? '') + preview.delta.content.text)
}

/** Texts end with their event, or with the next request to the model. */
function forget(texts: Texts, events: readonly Pick<SessionEvent, 'id' | 'type'>[]): void {
  for (const { id, type } of events) {
    texts.delete(id)
    if (type === 'span.model_request_start') texts.clear()
  }
}

function wake({ readers }: Followed): void {
  for (const reader of readers) reader.wake()
}

const nextWake = (reader: Reader): Promise<void> =>
  new Promise(resolve => {
    reader.wake = () => {
      reader.wake = () => undefined
      resolve()
    }
  })

function woken(reader: Reader, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = () => {
      signal.removeEventListener('abort', done)
      reader.wake = () => undefined
      resolve()
    }
    reader.wake = done
    signal.addEventListener('abort', done, { once: true })
  })
}
