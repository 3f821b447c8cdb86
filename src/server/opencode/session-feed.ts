import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { Changed, FeedStore } from './feed-store.ts'

/** What happened to a session: events `first` to `last` were added to its log, none when `last` is 0. */
export interface News {
  readonly sessionId: string
  readonly ownerId: string
  /** The session was made. */
  readonly isNew: boolean
  readonly first: number
  readonly last: number
}

type Listener = (news: News) => void

interface Deps {
  readonly store: FeedStore
  readonly notifications: Notifications
  readonly log: Log
}

const pollMs = 5_000
/** A change is written some time before it is committed. */
const marginMs = 10_000
const maxKnown = 10_000

/**
 * News of all sessions, whichever process writes them: by NOTIFY, and by a look at the tables every 5 s for hints that
 * were lost. Each addition is told once, in the order of its session.
 */
export class SessionFeed {
  readonly #store: FeedStore
  readonly #log: Log
  readonly #listeners = new Set<Listener>()
  /** The last number told, by session; those heard of last are kept. */
  readonly #known = new Map<string, number>()
  readonly #stopPolling: () => Promise<void>
  #lookedAtMs = 0

  constructor({ store, notifications, log }: Deps) {
    this.#store = store
    this.#log = log
    notifications.on('session_events', hint => this.#hear(hint))
    notifications.onReconnect(() => void this.#catchUp())
    this.#stopPolling = every(pollMs, () => this.#catchUp())
  }

  /** Calls `listener` with what happens from now on, until the returned function is called. Rejects with `unavailable`. */
  async listen(listener: Listener): Promise<() => void> {
    if (this.#listeners.size === 0) await this.#learn()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  stop(): Promise<void> {
    return this.#stopPolling()
  }

  /** What happened before somebody listens is no news. */
  async #learn(): Promise<void> {
    this.#lookedAtMs = performance.now()
    for (const { id, last } of await this.#store.changed(marginMs)) {
      if (last > (this.#known.get(id) ?? -1)) this.#remember(id, last)
    }
  }

  /** `hint`: a session, its last and its first number that are new, its owner. */
  #hear(hint: string): void {
    const [, sessionId, last, first, ownerId = ''] = /^(\S+) (\d+) (\d+) (.*)$/s.exec(hint) ?? []
    if (sessionId !== undefined)
      this.#tell({ sessionId, ownerId, isNew: last === '0', first: Number(first), last: Number(last) })
  }

  #tell(news: News): void {
    const { sessionId, last } = news
    const known = this.#known.get(sessionId)
    if (known !== undefined && last <= known) return
    this.#remember(sessionId, last)
    const told = known === undefined ? news : { ...news, first: known + 1 }
    for (const listener of this.#listeners) listener(told)
  }

  #remember(sessionId: string, last: number): void {
    this.#known.delete(sessionId)
    this.#known.set(sessionId, last)
    if (this.#known.size <= maxKnown) return
    const [oldest = ''] = this.#known.keys()
    this.#known.delete(oldest)
  }

  async #catchUp(): Promise<void> {
    if (this.#listeners.size === 0) return
    const startedMs = performance.now()
    try {
      const changed = await this.#store.changed(startedMs - this.#lookedAtMs + marginMs)
      this.#lookedAtMs = startedMs
      for (const session of changed) this.#tellMissed(session)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'could not look for sessions that changed; the next poll will')
    }
  }

  #tellMissed({ id: sessionId, owner_id: ownerId, last, before, is_new }: Changed): void {
    const session = { sessionId, ownerId }
    if (is_new) this.#tell({ ...session, isNew: true, first: 1, last: 0 })
    if (last > before) this.#tell({ ...session, isNew: false, first: before + 1, last })
  }
}
