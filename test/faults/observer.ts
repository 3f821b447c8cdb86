import type { Pool } from 'pg'
import { createPool } from '../../src/server/db/connect.ts'
import type { Bench } from './fault-case.ts'

/** A lease as the row shows it. */
export interface LeaseRow {
  readonly id: string
  readonly fence: number
  readonly lease_owner: string | null
}

/** Reads the service's database from outside; survives every fault of the service. */
export interface Observer {
  readonly pool: Pool
  openPrompts(): Promise<number>
  /** Sessions that somebody owns now. */
  leasedSessions(): Promise<number>
  /** The number of events of each session. */
  logLengths(): Promise<Map<string, number>>
  /** Sessions that somebody owns, with a prompt in work. */
  runs(): Promise<LeaseRow[]>
  /** True when each of these sessions was given a later fence, or has no prompt in work any more. */
  isTakenOver(before: readonly LeaseRow[]): Promise<boolean>
}

/** Opens it; closed with the case. */
export function observe(bench: Pick<Bench, 'defer'>, url: string): Observer {
  const pool = createPool({ url, max: 3, applicationName: 'faults', onLost: () => undefined })
  bench.defer(() => pool.end())
  return {
    pool,
    async openPrompts() {
      const text = `select count(*) as open from prompts where state in ('waiting', 'running')`
      const { rows } = await pool.query<{ open: number }>(text)
      return rows[0]?.open ?? 0
    },
    async leasedSessions() {
      const text = 'select count(*) as leased from sessions where lease_until > clock_timestamp()'
      const { rows } = await pool.query<{ leased: number }>(text)
      return rows[0]?.leased ?? 0
    },
    async logLengths() {
      const { rows } = await pool.query<{ id: string; last: number }>('select id, next_seq - 1 as last from sessions')
      return new Map(rows.map(({ id, last }) => [id, last]))
    },
    async runs() {
      const text = `
        select id, fence, lease_owner from sessions s
        where lease_owner is not null and exists (select from prompts where session_id = s.id and state = 'running')`
      return (await pool.query<LeaseRow>(text)).rows
    },
    async isTakenOver(before) {
      const { rowCount } = await pool.query(
        `select from sessions s join unnest($1::text[], $2::bigint[]) as was (id, fence) using (id)
         where s.fence <= was.fence and exists (select from prompts where session_id = s.id and state = 'running')`,
        [before.map(({ id }) => id), before.map(({ fence }) => fence)],
      )
      return rowCount === 0
    },
  }
}
