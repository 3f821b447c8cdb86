import type { Pool } from 'pg'
import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { transaction } from '../../db/connect.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import { type EventStore, type Hold, type NamedEvent, type Queryable, withId } from './event-store.ts'
import type { FoldCache } from './fold-cache.ts'
import type { LiveEvents } from './live-events.ts'

/** A write was refused: another owner has the session, or it was deleted. Whoever gets this stops at once. */
export class FenceLost extends Error {
  constructor(sessionId: string) {
    super(`session ${sessionId} has another owner or was deleted`)
    this.name = 'FenceLost'
  }
}

/** Who runs a session, and may write its log for as long. */
export interface Writer extends Hold {
  /** Aborts when the session may no longer be written: lease lost, session deleted, or renewal failed for too long. */
  readonly lost: AbortSignal
  /** False once the lease may have lapsed by the clock of this process: then `lost` aborts, and nothing may be written. */
  readonly mayWrite: () => boolean
  /** Takes the lease again where it was given up while the run waits; undefined where it is there. Rejects with `unavailable`. */
  readonly regain?: () => Promise<void> | undefined
  /** The last event of the log that it has stored, or that was there before. */
  lastSeq: number
}

/** What was appended inside a transaction, to be told once that has committed. */
export interface Appended {
  readonly sessionId: string
  readonly events: readonly SessionEvent[]
}

const retryMs = 250

/** The log of every session: append, then tell the readers. */
export type EventLog = ReturnType<typeof createEventLog>

interface Deps {
  readonly pool: Pool
  readonly store: EventStore
  readonly live: LiveEvents
  readonly folds: Pick<FoldCache, 'note'>
}

export function createEventLog({ pool, store, live, folds }: Deps) {
  /** To the readers of this process, and to whoever goes on with the session. */
  function tell({ sessionId, events }: Appended): void {
    folds.note(sessionId, events)
    live.publish(sessionId, events)
  }

  const storing =
    (held: Writer, along: Along | undefined): Write =>
    async (events, on) => {
      const appended = await store.appendHeld(held, events, on)
      if (appended) await along?.(on, appended)
      return appended
    }

  /** The second and every later attempt: the one before may have been done, or may still be at work in the database. */
  function storeUnlessDone(held: Writer, events: readonly NamedEvent[], write: Write) {
    return transaction(pool, async client => {
      // Whoever holds the row may be our own last attempt, whose end nobody waits for any more.
      await store.lock(held.sessionId, client)
      const before = await store.stored(held.sessionId, events, client)
      return before.length > 0 ? before : write(events, client)
    })
  }

  async function appendBy(held: Writer, events: readonly NewEvent[], write: Write, isOne = true): Promise<void> {
    const named = events.map(withId)
    const stored = await whileHeld(held, isRepeat => {
      if (isRepeat) return storeUnlessDone(held, named, write)
      return isOne ? write(named, pool) : transaction(pool, client => write(named, client))
    })
    if (!stored) throw new FenceLost(held.sessionId)
    held.lastSeq = stored.at(-1)?.seq ?? held.lastSeq
    tell({ sessionId: held.sessionId, events: stored })
  }

  return {
    /**
     * Appends events of the session's owner, with what `along` writes in the same transaction, and tells the readers.
     * Goes on trying while the database is away and the session is ours. Rejects with `FenceLost`.
     */
    append: (held: Writer, events: readonly NewEvent[], along?: Along): Promise<void> =>
      appendBy(held, events, storing(held, along), along === undefined),

    /** The same for events that `write` stores together with all that belongs to them, in one statement unless `isOne` is false. */
    appendBy,

    /** Appends events of a caller inside a transaction; hand the result to `tell` after the commit. */
    async appendByCaller(client: Queryable, sessionId: string, events: readonly NewEvent[]): Promise<Appended> {
      return { sessionId, events: (await store.append(sessionId, events.map(withId), client)) ?? [] }
    },

    /** Hands events to the readers of this process; others hear by NOTIFY. */
    tell,
  }
}

type Along = (on: Queryable, stored: readonly SessionEvent[]) => Promise<void>

/** Stores events; undefined when the session has another owner or was deleted. */
type Write = (events: readonly NamedEvent[], on: Queryable) => Promise<SessionEvent[] | undefined>

/**
 * Repeats `attempt` while the database is away, as long as the session may still be ours. Rejects with `FenceLost`,
 * before any attempt, once the lease may have lapsed.
 */
export async function whileHeld<T>(held: Writer, attempt: (isRepeat: boolean) => Promise<T>): Promise<T> {
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      await held.regain?.()
      if (!held.mayWrite()) throw new FenceLost(held.sessionId)
      return await attempt(isRepeat)
    } catch (error) {
      if (!held.mayWrite()) throw new FenceLost(held.sessionId)
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, held.lost)
    }
  }
}
