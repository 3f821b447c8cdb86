import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { eventsChannel } from '../sessions/log/log-page.ts'
import type { ChangedSession, FeedStore } from './feed-store.ts'

/** A change of a session: events `first` to `last` were added to its log, or none when `last` is 0. */
export interface SessionChange {
  readonly sessionId: string
  readonly ownerId: string
  /** True when the session was created. */
  readonly isNew: boolean
  readonly first: number
  readonly last: number
}

/** Merges two consecutive changes of one session. */
const merged = (before: SessionChange | undefined, change: SessionChange): SessionChange =>
  before ? { ...before, last: change.last } : change

type Listener = (change: SessionChange) => void

interface Deps {
  readonly store: FeedStore
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  readonly log: Log
  /** Poll interval in milliseconds; default 5,000. */
  readonly pollMs?: number
}

const defaultPollMs = 5_000
/** Maximum time between the timestamp of a change and its commit. */
const marginMs = 10_000
const maxTrackedSessions = 10_000

/**
 * Delivers the changes of all sessions, from all processes: by NOTIFY, and by a poll every 5 s for lost notifications.
 * Each change is delivered once, in the order of its session.
 */
export class SessionFeed {
  readonly #store: FeedStore
  readonly #log: Log
  readonly #listeners = new Set<Listener>()
  /** Last delivered event number by session, for the most recently changed sessions. */
  readonly #delivered = new Map<string, number>()
  readonly #stopPolling: () => Promise<void>
  #queriedAtMs = 0
  /**
   * Notifications since a reconnect, buffered until a query has returned the missed changes, to preserve session order.
   */
  #buffered: Map<string, SessionChange> | undefined

  constructor({ store, notifications, log, pollMs = defaultPollMs }: Deps) {
    this.#store = store
    this.#log = log
    notifications.on(eventsChannel, hint => this.#onHint(hint))
    notifications.onReconnect(() => {
      this.#buffered = new Map(this.#buffered)
      void this.#catchUp()
    })
    this.#stopPolling = every(pollMs, () => this.#catchUp())
  }

  /** Calls `listener` with changes from now on, until the returned function is called. Rejects with `unavailable`. */
  async listen(listener: Listener): Promise<() => void> {
    if (this.#listeners.size === 0) await this.#skipExisting()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  stop(): Promise<void> {
    return this.#stopPolling()
  }

  /** Marks existing changes as delivered, because they precede the first listener. */
  async #skipExisting(): Promise<void> {
    this.#queriedAtMs = performance.now()
    // Otherwise changes whose notifications were lost earlier would be delivered with the next one.
    this.#delivered.clear()
    for (const { id, last } of await this.#store.changed(marginMs)) {
      if (last > (this.#delivered.get(id) ?? -1)) this.#setDelivered(id, last)
    }
  }

  /** `hint` is a session id, its last and its first new event number, and its owner. */
  #onHint(hint: string): void {
    const [, sessionId, last, first, ownerId = ''] = /^(\S+) (\d+) (\d+) (.*)$/s.exec(hint) ?? []
    if (sessionId === undefined) return
    const change = { sessionId, ownerId, isNew: last === '0', first: Number(first), last: Number(last) }
    if (this.#buffered) this.#buffered.set(sessionId, merged(this.#buffered.get(sessionId), change))
    else this.#emit(change)
  }

  #emit(change: SessionChange): void {
    const { sessionId, last } = change
    const delivered = this.#delivered.get(sessionId)
    if (delivered !== undefined && last <= delivered) return
    this.#setDelivered(sessionId, last)
    const undelivered = delivered === undefined ? change : { ...change, isNew: false, first: delivered + 1 }
    for (const listener of this.#listeners) listener(undelivered)
  }

  #setDelivered(sessionId: string, last: number): void {
    this.#delivered.delete(sessionId)
    this.#delivered.set(sessionId, last)
    if (this.#delivered.size <= maxTrackedSessions) return
    const [oldest = ''] = this.#delivered.keys()
    this.#delivered.delete(oldest)
  }

  async #catchUp(): Promise<void> {
    const buffered = this.#buffered
    if (this.#listeners.size === 0) return this.#release(buffered)
    const startedMs = performance.now()
    try {
      const changed = await this.#store.changed(startedMs - this.#queriedAtMs + marginMs)
      this.#queriedAtMs = startedMs
      for (const session of changed) this.#emitMissed(session)
      this.#release(buffered)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'cannot read changed sessions; retrying in the next poll')
    }
  }

  /** `buffered` is the buffer at the time of the query; notifications after a later reconnect are not covered by it. */
  #release(buffered: Map<string, SessionChange> | undefined): void {
    if (buffered === undefined || buffered !== this.#buffered) return
    this.#buffered = undefined
    for (const change of buffered.values()) this.#emit(change)
  }

  #emitMissed({ id: sessionId, owner_id: ownerId, last, before, is_new }: ChangedSession): void {
    const session = { sessionId, ownerId }
    if (is_new) this.#emit({ ...session, isNew: true, first: 1, last: 0 })
    if (last > before) this.#emit({ ...session, isNew: false, first: before + 1, last })
  }
}
