import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import type { McpCall, McpCallTotals } from '../../../contract/mcp-calls.ts'
import { isOlderThan, place } from '../../db/by-time.ts'
import { isUniqueViolation } from '../../db/connect.ts'
import { copyRows } from '../../db/copy-rows.ts'
import type { Database } from '../../db/database.ts'
import type { McpCallTable } from '../../db/tables/mcp.ts'

export interface CallFilter {
  readonly server?: string
  readonly tool?: string
  readonly principal?: string | undefined
  readonly key_id?: string
  readonly outcome?: string
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** Columns that a filter compares. */
const filtered = ['tool', 'principal', 'key_id', 'outcome'] as const

/** A call and its position in the list, for cursors. */
interface Listed {
  readonly call: McpCall
  readonly place: string
}

const columns = [
  'id',
  'created_at',
  'server_id',
  'server_name',
  'tool',
  'via',
  'principal',
  'key_id',
  'outcome',
  'error_code',
  'ms',
  'request_bytes',
  'response_bytes',
] as const satisfies readonly (keyof McpCallTable)[]

const insertNew = `
  insert into mcp_calls (${columns.join(', ')})
  select ${columns.join(', ')} from json_populate_recordset(null::mcp_calls, $1) on conflict do nothing`

const ofServer = (server: string) => (where: ExpressionBuilder<Database, 'mcp_calls'>) =>
  where.or([where('server_id', '=', server), where('server_name', '=', server)])

/** Table `mcp_calls`. */
export type McpCallStore = ReturnType<typeof mcpCallStore>

export function mcpCallStore(pool: Pool, db: Kysely<Database>) {
  return {
    /** Inserts a batch; rows of a batch that was stored already are skipped. */
    async insert(rows: readonly McpCallTable[]): Promise<void> {
      try {
        await copyRows(pool, { table: 'mcp_calls', columns, rows })
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        // The answer of an earlier insert was lost.
        await pool.query(insertNew, [JSON.stringify(rows)])
      }
    },

    /** Returns calls, newest first. */
    async list(
      { server, from, to, ...values }: CallFilter,
      page: { readonly after: string | undefined; readonly limit: number },
    ): Promise<Listed[]> {
      let all = db.selectFrom('mcp_calls').select([...columns, place.as('place')])
      for (const column of filtered) {
        const value = values[column]
        if (value !== undefined) all = all.where(column, '=', value)
      }
      if (server !== undefined) all = all.where(ofServer(server))
      if (from) all = all.where('created_at', '>=', from)
      if (to) all = all.where('created_at', '<', to)
      if (page.after !== undefined) all = all.where(isOlderThan(page.after))
      const rows = await all.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit).execute()
      return rows.map(({ place, created_at, ...row }) => ({
        place,
        call: { ...row, created_at: created_at.toISOString() },
      }))
    },

    /** Returns the totals of each server, the most called first. */
    async totals({
      server,
      principal,
      from,
      to,
    }: Omit<CallFilter, 'tool' | 'key_id' | 'outcome'>): Promise<McpCallTotals[]> {
      const count = (outcome: string) => sql<number>`count(*) filter (where outcome = ${outcome})::int`
      const latency = (share: number) => sql<number>`round(percentile_cont(${share}) within group (order by ms))::int`
      let all = db
        .selectFrom('mcp_calls')
        .select(({ fn }) => [
          'server_id',
          sql<string>`(array_agg(server_name order by created_at desc))[1]`.as('server_name'),
          sql<number>`count(*)::int`.as('calls'),
          count('tool_error').as('tool_errors'),
          count('failed').as('failed'),
          latency(0.5).as('ms_p50'),
          latency(0.95).as('ms_p95'),
          fn.max('created_at').as('last_call_at'),
        ])
      if (server !== undefined) all = all.where(ofServer(server))
      if (principal !== undefined) all = all.where('principal', '=', principal)
      if (from) all = all.where('created_at', '>=', from)
      if (to) all = all.where('created_at', '<', to)
      const rows = await all.groupBy('server_id').orderBy('calls', 'desc').orderBy('server_id').execute()
      return rows.map(({ last_call_at, ...row }) => ({ ...row, last_call_at: last_call_at.toISOString() }))
    },
  }
}
