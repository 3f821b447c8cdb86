import { type Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import type { McpCall, McpCallSummary } from '../../../contract/mcp-calls.ts'
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
  readonly via?: string
  readonly outcome?: string
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** Columns that a filter compares. */
const filtered = ['tool', 'principal', 'key_id', 'via', 'outcome'] as const

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
      filter: CallFilter,
      page: { readonly after: string | undefined; readonly limit: number },
    ): Promise<Listed[]> {
      let all = db
        .selectFrom('mcp_calls')
        .select([...columns, place.as('place')])
        .where(matching(filter))
      if (page.after !== undefined) all = all.where(isOlderThan(page.after))
      const rows = await all.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit).execute()
      return rows.map(({ place, created_at, ...row }) => ({
        place,
        call: { ...row, created_at: created_at.toISOString() },
      }))
    },

    /** Returns sums of each server or tool, the most calls first. */
    async summary(filter: CallFilter, { by, limit }: SummaryOf): Promise<McpCallSummary[]> {
      const tool = by === 'tool' ? sql<string>`tool` : sql<null>`null::text`
      const { rows } = await sql<SummaryRow>`
        select server_id, (array_agg(server_name order by created_at desc))[1] as server_name, ${tool} as tool,
               count(*)::int as calls, count(*) filter (where outcome = 'tool_error')::int as tool_errors,
               count(*) filter (where outcome = 'failed')::int as failed, max(created_at) as last_call_at,
               percentile_cont(array[0.5, 0.95]) within group (order by ms) as percentiles, sum(ms)::float8 as total_ms
        from mcp_calls where ${matching(filter)}
        group by server_id, ${by === 'tool' ? sql`tool` : sql`()`}
        order by calls desc, server_id, tool limit ${limit}`.execute(db)
      return rows.map(({ percentiles: [p50, p95], last_call_at, ...row }) => ({
        ...row,
        last_call_at: last_call_at.toISOString(),
        ms: { p50: Math.round(p50), p95: Math.round(p95) },
      }))
    },
  }
}

interface SummaryOf {
  readonly by: 'server' | 'tool'
  readonly limit: number
}

type SummaryRow = Omit<McpCallSummary, 'last_call_at' | 'ms'> & {
  readonly last_call_at: Date
  readonly percentiles: readonly [p50: number, p95: number]
}

function matching({ server, from, to, ...values }: CallFilter) {
  const conditions = filtered
    .filter(column => values[column] !== undefined)
    .map(column => sql<boolean>`${sql.ref(column)} = ${values[column]}`)
  if (server !== undefined) conditions.push(sql`(server_id = ${server} or server_name = ${server})`)
  if (from) conditions.push(sql`created_at >= ${from}`)
  if (to) conditions.push(sql`created_at < ${to}`)
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`${sql.join(conditions, sql` and `)}`
}
