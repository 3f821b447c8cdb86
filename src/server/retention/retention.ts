import type { RetentionSettings } from '../config/config.ts'
import { masterCaller } from '../http/caller.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { AgedTable, Cleaning, RetentionStore } from './store.ts'

interface Deps {
  readonly settings: RetentionSettings
  readonly store: RetentionStore
  readonly sessions: Pick<Sessions, 'remove'>
  /** Removes the files of a session from this machine. */
  readonly removeFiles: (sessionId: string) => Promise<void>
  /** Removes an object of the object store; absent without one. */
  readonly removeObject?: ((key: string) => Promise<void>) | undefined
  readonly log: Pick<Log, 'warn' | 'info'>
}

const longestPeriodMs = 60_000
const shortestPeriodMs = 1_000
/** Between two batches, so that whatever else the database does comes first. */
const breathMs = 20
/** A step that is being stored may count on pieces that no session needs yet. */
const looseMs = 24 * 60 * 60 * 1_000
const idempotencyMs = 24 * 60 * 60 * 1_000

/** Deletes what the configuration does not keep any longer: one replica at a time, in small batches. */
export function createRetention({ settings, store, sessions, removeFiles, removeObject, log }: Deps) {
  const stopping = new AbortController()
  let stopSweeping = async (): Promise<void> => undefined
  const aged: readonly (readonly [AgedTable, number | undefined])[] = [
    ['deliveries', settings.deliveriesMs],
    ['endpoint_deliveries', settings.deliveriesMs],
    ['call_bodies', settings.bodiesMs],
    ['ledger', settings.ledgerMs],
    ['audit', settings.auditMs],
    ['idempotency_keys', idempotencyMs],
    ['stream_tickets', 0],
    ['responses', 0],
    ['response_cache', 0],
    ['workspace_blobs', looseMs],
  ]

  /** Repeats a batch until one finds nothing more. */
  async function batches(batch: () => Promise<boolean>): Promise<void> {
    while (!stopping.signal.aborted && (await batch())) await pause(breathMs, stopping.signal)
  }

  async function purgeNext(cleaning: Cleaning, olderMs: number): Promise<boolean> {
    const purged = await cleaning.purgeNext(olderMs)
    if (!purged) return false
    if (!purged.is_disposed) {
      await removeFiles(purged.id).catch(cause => {
        log.warn({ err: cause, session_id: purged.id }, 'could not remove the files of a deleted session')
      })
    }
    await batches(() => cleaning.deleteEvents(purged.id))
    await batches(() => cleaning.releaseFiles(purged.id))
    if (stopping.signal.aborted) return false
    await cleaning.empty(purged)
    return true
  }

  /** What has been idle for too long is deleted as a caller would, with the same grace. */
  async function deleteIdle(cleaning: Cleaning, olderMs: number): Promise<boolean> {
    const ids = await cleaning.idleSessions(olderMs)
    for (const id of ids) if (!stopping.signal.aborted) await sessions.remove(id, masterCaller)
    return ids.length > 0
  }

  /** A store that is away is asked again at the next sweep. */
  async function deleteObjects(cleaning: Cleaning, remove: (key: string) => Promise<void>): Promise<boolean> {
    const keys = await cleaning.unneededObjects()
    for (const key of keys) await remove(key)
    await cleaning.forgetObjects(keys)
    return keys.length > 0
  }

  async function sweepAlone(cleaning: Cleaning): Promise<void> {
    const { sessionsMs, deletedSessionsMs } = settings
    for (const [table, ms] of aged) if (ms !== undefined) await batches(() => cleaning.deleteOlder(table, ms))
    if (sessionsMs !== undefined) await batches(() => deleteIdle(cleaning, sessionsMs))
    if (deletedSessionsMs !== undefined) await batches(() => purgeNext(cleaning, deletedSessionsMs))
    if (removeObject) await batches(() => deleteObjects(cleaning, removeObject))
  }

  async function sweep(): Promise<void> {
    try {
      await store.alone(sweepAlone)
    } catch (cause) {
      if (!stopping.signal.aborted)
        log.warn({ err: cause }, 'could not delete what is past its time; the next sweep will')
    }
  }

  return {
    sweep,
    start(): void {
      const shortest = Math.min(...Object.values(settings).filter(ms => ms !== undefined), longestPeriodMs)
      stopSweeping = every(Math.max(shortest, shortestPeriodMs), sweep)
    },
    stop(): Promise<void> {
      stopping.abort()
      return stopSweeping()
    },
  }
}
