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

const maxPeriodMs = 60_000
const minPeriodMs = 1_000
/** Pause between two batches, so that the cleanup does not slow down other work of the database. */
const batchPauseMs = 20
/**
 * How long unreferenced chunks stay: a checkpoint that is being stored may use chunks that no session references yet.
 */
const unreferencedMs = 24 * 60 * 60 * 1_000
const toolCallsMs = 30 * 24 * 60 * 60 * 1_000
const idempotencyMs = 24 * 60 * 60 * 1_000

/** Deletes rows, files and objects past their configured retention: one replica at a time, in small batches. */
export function createRetention({ settings, store, sessions, removeFiles, removeObject, log }: Deps) {
  const stopping = new AbortController()
  let stopSweeping = async (): Promise<void> => undefined
  const aged: readonly (readonly [AgedTable, number | undefined])[] = [
    ['deliveries', settings.deliveriesMs],
    ['endpoint_deliveries', settings.deliveriesMs],
    ['webhook_counts', settings.deliveriesMs],
    ['webhook_replies', settings.deliveriesMs],
    ['webhook_reply_targets', settings.deliveriesMs],
    ['call_bodies', settings.bodiesMs],
    ['ledger', settings.ledgerMs],
    ['audit', settings.auditMs],
    ['idempotency_keys', idempotencyMs],
    ['stream_tickets', 0],
    ['mcp_calls', toolCallsMs],
    ['tool_calls', toolCallsMs],
    ['mcp_authorizations', 0],
    ['responses', 0],
    ['response_cache', 0],
    ['files', settings.filesMs],
    ['expired_files', 0],
    ['workspace_blobs', unreferencedMs],
  ]

  /** Repeats a batch until it returns false. */
  async function batches(batch: () => Promise<boolean>): Promise<void> {
    while (!stopping.signal.aborted && (await batch())) await pause(batchPauseMs, stopping.signal)
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

  /** Deletes idle sessions as a caller's DELETE does, with the same grace period. */
  async function deleteIdle(cleaning: Cleaning, olderMs: number): Promise<boolean> {
    const ids = await cleaning.idleSessions(olderMs)
    for (const id of ids) if (!stopping.signal.aborted) await sessions.remove(id, masterCaller)
    return ids.length > 0
  }

  /** When the object store is unreachable, this throws, and the next sweep retries. */
  async function deleteObjects(cleaning: Cleaning, remove: (key: string) => Promise<void>): Promise<boolean> {
    const keys = await cleaning.unneededObjects()
    for (const key of keys) await remove(key)
    await cleaning.forgetObjects(keys)
    return keys.length > 0
  }

  async function sweepTables(cleaning: Cleaning): Promise<void> {
    const { sessionsMs, deletedSessionsMs } = settings
    for (const [table, ms] of aged) if (ms !== undefined) await batches(() => cleaning.deleteOlder(table, ms))
    if (sessionsMs !== undefined) await batches(() => deleteIdle(cleaning, sessionsMs))
    if (deletedSessionsMs !== undefined) await batches(() => purgeNext(cleaning, deletedSessionsMs))
    if (removeObject) await batches(() => deleteObjects(cleaning, removeObject))
  }

  async function sweep(): Promise<void> {
    try {
      await store.alone(sweepTables)
    } catch (cause) {
      if (!stopping.signal.aborted)
        log.warn({ err: cause }, 'could not delete expired data; retrying at the next sweep')
    }
  }

  return {
    sweep,
    start(): void {
      const minRetentionMs = Math.min(...Object.values(settings).filter(ms => ms !== undefined), maxPeriodMs)
      stopSweeping = every(Math.max(minRetentionMs, minPeriodMs), sweep)
    },
    stop(): Promise<void> {
      stopping.abort()
      return stopSweeping()
    },
  }
}
