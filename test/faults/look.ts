import { type Pool, types } from 'pg'
import { createPool } from '../../src/server/db/connect.ts'
import type { Bench } from './fault-case.ts'

/** A lease as the row shows it. */
export interface LeaseRow {
  readonly id: string
  readonly fence: number
  readonly lease_owner: string | null
}

/** A look at the service's database from outside; survives every fault of it. */
export interface Look {
  readonly pool: Pool
  openPrompts(): Promise<number>
  /** The number of events of each session. */
  logLengths(): Promise<Map<string, number>>
  leases(): Promise<LeaseRow[]>
  /** Number of events of all sessions that were stored under a fence above the given one of each. */
  isTakenOver(before: readonly LeaseRow[]): Promise<boolean>
}

/** Opens it; closed with the case. */
export function lookAt(bench: Pick<Bench, 'defer'>, url: string): Look {
  const pool = createPool({ url, max: 3, applicationName: 'faults', onLost: () => undefined })
  bench.defer(() => pool.end())
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await pool.query<Row>({ text, values, types })).rows
  return {
    pool,
    async openPrompts() {
      const [row] = await rows<{ open: string }>(
        `select count(*) as open from prompts where state in ('waiting', 'running')`,
      )
      return Number(row?.open ?? 0)
    },
    async logLengths() {
      const found = await rows<{ id: string; last: string }>('select id, next_seq - 1 as last from sessions')
      return new Map(found.map(({ id, last }) => [id, Number(last)]))
    },
    async leases() {
      const found = await rows<{ id: string; fence: string; lease_owner: string | null }>(
        'select id, fence, lease_owner from sessions where lease_owner is not null',
      )
      return found.map(row => ({ ...row, fence: Number(row.fence) }))
    },
    async isTakenOver(before) {
      const [row] = await rows<{ left: string }>(
        `select count(*) as left from sessions s, unnest($1::text[], $2::bigint[]) as was (id, fence)
         where s.id = was.id and s.fence <= was.fence`,
        [before.map(({ id }) => id), before.map(({ fence }) => fence)],
      )
      return Number(row?.left ?? 1) === 0
    },
  }
}
