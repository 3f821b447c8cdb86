import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { eventsChannel } from '../sessions/log/log-page.ts'
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

/** Two news of one session that follow on each other, as one. */
const together = (before: News | undefined, news: News): News => (before ? { ...before, last: news.last } : news)

type Listener = (news: News) => void

interface Deps {
  readonly store: FeedStore
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  readonly log: Log
  /** How often the tables are looked at; 5,000 unless given. */
  readonly pollMs?: number
}

const defaultPollMs = 5_000
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
  /** What was heard since a reconnect, until the tables have told what was not: the order of a session would be lost. */
  #held: Map<string, News> | undefined

  constructor({ store, notifications, log, pollMs = defaultPollMs }: Deps) {
    this.#store = store
    this.#log = log
    notifications.on(eventsChannel, hint => this.#hear(hint))
    notifications.onReconnect(() => {
      this.#held = new Map(this.#held)
      void this.#catchUp()
    })
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
    // Hints that were lost while nobody listened would be told with the next one.
    this.#known.clear()
    for (const { id, last } of await this.#store.changed(marginMs)) {
      if (last > (this.#known.get(id) ?? -1)) this.#remember(id, last)
    }
  }

  /** `hint`: a session, its last and its first number that are new, its owner. */
  #hear(hint: string): void {
    const [, sessionId, last, first, ownerId = ''] = /^(\S+) (\d+) (\d+) (.*)$/s.exec(hint) ?? []
    if (sessionId === undefined) return
    const news = { sessionId, ownerId, isNew: last === '0', first: Number(first), last: Number(last) }
    if (this.#held) this.#held.set(sessionId, together(this.#held.get(sessionId), news))
    else this.#tell(news)
  }

  #tell(news: News): void {
    const { sessionId, last } = news
    const known = this.#known.get(sessionId)
    if (known !== undefined && last <= known) return
    this.#remember(sessionId, last)
    const told = known === undefined ? news : { ...news, isNew: false, first: known + 1 }
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
    const held = this.#held
    if (this.#listeners.size === 0) return this.#release(held)
    const startedMs = performance.now()
    try {
      const changed = await this.#store.changed(startedMs - this.#lookedAtMs + marginMs)
      this.#lookedAtMs = startedMs
      for (const session of changed) this.#tellMissed(session)
      this.#release(held)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'could not look for sessions that changed; the next poll will')
    }
  }

  /** `held` is what was held when the tables were looked at: not all of what came with a later reconnect is in them. */
  #release(held: Map<string, News> | undefined): void {
    if (held === undefined || held !== this.#held) return
    this.#held = undefined
    for (const news of held.values()) this.#tell(news)
  }

  #tellMissed({ id: sessionId, owner_id: ownerId, last, before, is_new }: Changed): void {
    const session = { sessionId, ownerId }
    if (is_new) this.#tell({ ...session, isNew: true, first: 1, last: 0 })
    if (last > before) this.#tell({ ...session, isNew: false, first: before + 1, last })
  }
}
