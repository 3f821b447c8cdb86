import type { WebhookCountKind } from '../../contract/webhook-counts.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { CountStore, NewCount } from './count-store.ts'

interface Deps {
  readonly store: Pick<CountStore, 'add'>
  readonly log: Pick<Log, 'warn'>
  readonly nowMs: () => number
}

const periodMs = 1_000
const hourMs = 3_600_000

/**
 * Counts requests of senders that the log of deliveries does not have, so that a flood of them fills no table. Counts are
 * written once a second; a request never waits for them.
 */
export type DeliveryCounts = ReturnType<typeof createDeliveryCounts>

export function createDeliveryCounts({ store, log, nowMs }: Deps) {
  /** By agent, kind and hour: as many entries as agents with such requests. */
  let open = new Map<string, NewCount>()
  let stopFlushing = async (): Promise<void> => undefined

  function add({ agent_id, kind, hour, last_at }: NewCount, count: number): void {
    const key = `${kind} ${hour.getTime()} ${agent_id}`
    const before = open.get(key)
    const latest = before && before.last_at > last_at ? before.last_at : last_at
    open.set(key, { agent_id, kind, hour, count: (before?.count ?? 0) + count, last_at: latest })
  }

  async function flush(): Promise<void> {
    if (open.size === 0) return
    const rows = [...open.values()]
    open = new Map()
    try {
      await store.add(rows)
    } catch (cause) {
      log.warn({ err: cause, rows: rows.length }, 'could not write counts of webhook requests; retrying')
      for (const row of rows) add(row, row.count)
    }
  }

  return {
    add(agentId: string, kind: WebhookCountKind): void {
      const now = nowMs()
      const hour = new Date(now - (now % hourMs))
      add({ agent_id: agentId, kind, hour, count: 1, last_at: new Date(now) }, 1)
    },

    /** Writes all counts. */
    flush,
    start(): void {
      stopFlushing = every(periodMs, flush)
    },
    async stop(): Promise<void> {
      await stopFlushing()
      await flush()
    },
  }
}
