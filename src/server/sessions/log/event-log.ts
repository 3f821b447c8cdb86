import type { Pool } from 'pg'
import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { transaction } from '../../db/connect.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import { type EventStore, type Lease, type NamedEvent, type Queryable, withId } from './event-store.ts'
import type { FoldCache } from './fold-cache.ts'
import type { LiveEvents } from './live-events.ts'

/** A write was rejected because another process owns the session or it was deleted. The run must stop at once. */
export class FenceLost extends Error {
  constructor(sessionId: string) {
    super(`session ${sessionId} has another owner or was deleted`)
    this.name = 'FenceLost'
  }
}

/** The owner of a session, which may write its log while it has the lease. */
export interface Writer extends Lease {
  /** Aborts when the owner must stop writing: lease lost, session deleted, or renewals failed for too long. */
  readonly lost: AbortSignal
  /**
   * Returns false once the lease may have expired by this process's clock; then `lost` aborts and no write is allowed.
   */
  readonly mayWrite: () => boolean
  /**
   * Acquires the lease again after it was released while the run waits; undefined otherwise. Rejects with
   * `unavailable`.
   */
  readonly reacquire?: () => Promise<void> | undefined
  /** Number of the last event that it stored, or of the last event before it acquired the session. */
  lastSeq: number
}

/** Events appended inside a transaction, to be published after the commit. */
export interface Appended {
  readonly sessionId: string
  readonly events: readonly SessionEvent[]
}

const retryMs = 250

/** Appends to the logs of sessions and publishes the events to readers. */
export type EventLog = ReturnType<typeof createEventLog>

interface Deps {
  readonly pool: Pool
  readonly store: EventStore
  readonly live: LiveEvents
  readonly folds: Pick<FoldCache, 'note'>
  /** Records the tool calls among stored events. */
  readonly toolCalls?: { readonly note: (sessionId: string, events: readonly SessionEvent[]) => void }
}

export function createEventLog({ pool, store, live, folds, toolCalls }: Deps) {
  /** Publishes to the readers of this process and to the cached folds. */
  function publish({ sessionId, events }: Appended): void {
    folds.note(sessionId, events)
    live.publish(sessionId, events)
    toolCalls?.note(sessionId, events)
  }

  const storing =
    (leased: Writer, along: Along | undefined): Write =>
    async (events, on) => {
      const appended = await store.appendFenced(leased, events, on)
      if (appended) await along?.(on, appended)
      return appended
    }

  /** Used from the second attempt on: an earlier one may have committed, or may still run in the database. */
  function storeUnlessDone(leased: Writer, events: readonly NamedEvent[], write: Write) {
    return transaction(pool, async client => {
      // The row lock may be that of our own previous attempt, whose connection was lost.
      await store.lock(leased.sessionId, client)
      const before = await store.stored(leased.sessionId, events, client)
      return before.length > 0 ? before : write(events, client)
    })
  }

  async function appendBy(leased: Writer, events: readonly NewEvent[], write: Write, isOne = true): Promise<void> {
    const named = events.map(withId)
    const stored = await whileLeased(leased, isRepeat => {
      if (isRepeat) return storeUnlessDone(leased, named, write)
      return isOne ? write(named, pool) : transaction(pool, client => write(named, client))
    })
    if (!stored) throw new FenceLost(leased.sessionId)
    leased.lastSeq = Math.max(leased.lastSeq, stored.at(-1)?.seq ?? 0)
    publish({ sessionId: leased.sessionId, events: stored })
  }

  return {
    /**
     * Appends events of the session's owner together with the writes of `along`, in one transaction, and publishes
     * them. Retries while the database is unreachable and the lease is valid. Rejects with `FenceLost`.
     */
    append: (leased: Writer, events: readonly NewEvent[], along?: Along): Promise<void> =>
      appendBy(leased, events, storing(leased, along), along === undefined),

    /**
     * Like `append`, with a `write` that stores the events together with other rows; `isOne`: it is a single statement.
     */
    appendBy,

    /** Appends events of a caller inside a transaction; pass the result to `publish` after the commit. */
    async appendByCaller(client: Queryable, sessionId: string, events: readonly NewEvent[]): Promise<Appended> {
      return { sessionId, events: (await store.append(sessionId, events.map(withId), client)) ?? [] }
    },

    /** Publishes events to the readers of this process; other processes are notified with NOTIFY. */
    publish,
  }
}

type Along = (on: Queryable, stored: readonly SessionEvent[]) => Promise<void>

/** Stores events. Returns undefined when the session has another owner or was deleted. */
type Write = (events: readonly NamedEvent[], on: Queryable) => Promise<SessionEvent[] | undefined>

/**
 * Retries `attempt` while the database is unreachable and the session may still be owned. Rejects with `FenceLost`,
 * without an attempt, once the lease may have expired.
 */
export async function whileLeased<T>(leased: Writer, attempt: (isRepeat: boolean) => Promise<T>): Promise<T> {
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      await leased.reacquire?.()
      if (!leased.mayWrite()) throw new FenceLost(leased.sessionId)
      return await attempt(isRepeat)
    } catch (error) {
      if (!leased.mayWrite()) throw new FenceLost(leased.sessionId)
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, leased.lost)
    }
  }
}
