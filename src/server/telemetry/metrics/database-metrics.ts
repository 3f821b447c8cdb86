import { cachedRead } from '../../platform/cached-read.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { Counts } from '../counts-store.ts'
import type { Instruments } from './instruments.ts'

/** The counters of a connection pool, as `pg` names them. */
export interface PoolState {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  readonly options: { readonly max?: number | undefined }
}

interface Deps {
  readonly instruments: Instruments
  readonly store: { readonly read: () => Promise<Counts>; readonly sessions: () => Promise<number> }
  readonly pools: Readonly<Record<string, PoolState>>
  readonly log: Pick<Log, 'debug'>
}

const countsTtlMs = 5_000
const sessionsTtlMs = 60_000
/** A scrape must end before the scraper gives up, usually after 10 s. */
const patienceMs = 3_000

/** Returns a function that reads the metrics of the database. Without a database it removes the values of its tables. */
export function createDatabaseMetrics({ instruments, store, pools, log }: Deps): () => Promise<void> {
  const counts = cachedRead(store.read, countsTtlMs)
  const sessions = cachedRead(store.sessions, sessionsTtlMs)

  async function readTables(): Promise<void> {
    const both = Promise.all([counts(), sessions()])
    both.catch((cause: unknown) => log.debug({ err: cause }, 'cannot read the counts for metrics'))
    const read = await Promise.race([both, pause(patienceMs)]).catch(() => undefined)
    instruments.set('switchyard_database_up', read ? 1 : 0)
    if (read) show(instruments, ...read)
    else for (const name of ofTables) instruments.clear(name)
  }

  return async () => {
    // First, because the read below uses a connection.
    for (const [pool, state] of Object.entries(pools)) showPool(instruments, pool, state)
    await readTables()
  }
}

const ofTables = [
  'switchyard_sessions',
  'switchyard_prompts_waiting',
  'switchyard_prompts_waiting_oldest_seconds',
  'switchyard_approvals_pending',
  'switchyard_leases',
  'switchyard_sandboxes',
  'switchyard_deliveries_queued',
  'switchyard_background_responses',
  'switchyard_schedules_overdue_seconds',
] as const

function show(instruments: Instruments, counts: Counts, sessions: number): void {
  const { running, pending, failed } = counts
  const states = { running, pending, error: failed, idle: Math.max(0, sessions - running - pending - failed) }
  for (const [state, count] of Object.entries(states)) instruments.set('switchyard_sessions', count, { state })
  instruments.set('switchyard_prompts_waiting', counts.waiting)
  instruments.set('switchyard_prompts_waiting_oldest_seconds', counts.oldest_s)
  instruments.set('switchyard_approvals_pending', counts.approvals)
  instruments.set('switchyard_leases', counts.leases)
  instruments.set('switchyard_sandboxes', counts.sandboxes)
  instruments.set('switchyard_schedules_overdue_seconds', counts.overdue_s)
  const background = { queued: counts.background_queued, in_progress: counts.background_running }
  for (const [status, count] of Object.entries(background))
    instruments.set('switchyard_background_responses', count, { status })
  const queues = { webhook: counts.webhooks, endpoint: counts.endpoint_cursors, reply: counts.replies }
  for (const [kind, count] of Object.entries(queues)) instruments.set('switchyard_deliveries_queued', count, { kind })
}

function showPool(instruments: Instruments, pool: string, { totalCount, idleCount, waitingCount, options }: PoolState) {
  instruments.set('switchyard_database_connections', idleCount, { pool, state: 'idle' })
  instruments.set('switchyard_database_connections', totalCount - idleCount, { pool, state: 'in_use' })
  instruments.set('switchyard_database_connections_max', options.max ?? 10, { pool })
  instruments.set('switchyard_database_waiting', waitingCount, { pool })
}
