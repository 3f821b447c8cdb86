import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Pool } from 'pg'
import type { SessionEvent } from '../../contract/events.ts'
import type { ToolDimension, ToolFigures } from '../../contract/tool-usage.ts'
import type { Database } from '../db/database.ts'
import { type Percentiles, readSums, sumStatement, timeColumn, toMilliseconds } from './sums.ts'

/** Call of a tool that has its result. */
export interface EndedToolCall {
  /** Id of the event of the result. */
  readonly id: string
  readonly created_at: string
  readonly session_id: string
  readonly tool: string
  readonly is_error: boolean
  readonly ms: number | null
}

type Stored = { readonly payload: object; readonly created_at: Date } & Pick<SessionEvent, 'id' | 'seq' | 'type'>

const insertText = `
  insert into tool_calls (id, created_at, session_id, owner_id, agent_id, agent_version, tool, is_error, ms)
  select r.id, r.created_at, s.id, s.owner_id, s.agent_id, s.agent_version, r.tool, r.is_error, r.ms
  from json_to_recordset($1) as r (id text, created_at timestamptz, session_id text, tool text, is_error boolean, ms integer)
  join sessions s on s.id = r.session_id
  on conflict (id) do nothing`

/** Bounds the search for the call of a result. */
const maxEvents = 1_000

const usesText = `
  select id, seq, type, payload, created_at from session_events
  where session_id = $1 and seq < $2 and seq >= $2 - ${maxEvents}
    and type in ('agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use')
  order by seq desc limit 100`

/** Columns that a filter compares. */
const compared = ['tool', 'owner_id', 'agent_id', 'agent_version', 'session_id'] as const

/** Filter of tool calls. */
export type ToolCallFilter = { readonly [Column in (typeof compared)[number]]?: string | number | undefined } & {
  readonly from: Date
  readonly to: Date
  /** Only calls in sessions of this owner, in addition to the requested filters. */
  readonly visibleOwner: string | undefined
}

export interface ToolReportOf {
  readonly filter: ToolCallFilter
  readonly groupBy: readonly ToolDimension[]
  /** IANA name; days begin at midnight of this zone. */
  readonly timezone: string
  /** Maximum number of groups. */
  readonly limit: number
}

const plain: Readonly<Record<Exclude<ToolDimension, 'day' | 'hour'>, RawBuilder<string | null>>> = {
  tool: sql`tool`,
  owner: sql`owner_id`,
  agent: sql`nullif(agent_id, '')`,
  version: sql`agent_version::text`,
  session: sql`session_id`,
}

const figures = sql.join([
  sql`count(*)::int as calls`,
  sql`count(*) filter (where is_error)::int as failed_calls`,
  sql`percentile_cont(array[0.5, 0.95]) within group (order by ms) as ms`,
  sql`coalesce(sum(ms), 0)::float8 as total_ms`,
])

type FigureRow = Omit<ToolFigures, 'ms'> & { readonly ms: Percentiles }

/** Table `tool_calls`. */
export type ToolCallStore = ReturnType<typeof toolCallStore>

export function toolCallStore(pool: Pool, db: Kysely<Database>) {
  return {
    /** Inserts a batch; rows that are stored already are skipped. */
    async insert(rows: readonly EndedToolCall[]): Promise<void> {
      await pool.query(insertText, [JSON.stringify(rows)])
    },

    /** Returns totals and groups from one snapshot, sorted by time, oldest first, then by calls, most first. */
    async report({ filter, groupBy, timezone, limit }: ToolReportOf) {
      const statement = sumStatement<FigureRow, ToolDimension>({
        table: 'tool_calls',
        where: matching(filter),
        groupBy,
        columnOf: name => (name === 'day' || name === 'hour' ? timeColumn(name, timezone) : plain[name]),
        figures,
        order: [sql`calls desc`],
        limit,
      })
      return readSums(db, statement, { groupBy, limit, toFigures })
    },

    /** Returns the calls of a session among the events before `seq`, newest first. */
    async usesBefore(sessionId: string, seq: number): Promise<SessionEvent[]> {
      const { rows } = await pool.query<Stored>(usesText, [sessionId, seq])
      return rows.map(
        ({ payload, created_at, ...row }) =>
          ({ ...payload, ...row, processed_at: created_at.toISOString() }) as SessionEvent,
      )
    },
  }
}

function matching({ from, to, visibleOwner, ...requested }: ToolCallFilter): Expression<SqlBool> {
  const conditions = compared
    .filter(column => requested[column] !== undefined)
    .map(column => sql`${sql.ref(column)} = ${requested[column]}`)
  if (visibleOwner !== undefined) conditions.push(sql`owner_id = ${visibleOwner}`)
  return sql<SqlBool>`${sql.join([sql`created_at >= ${from}`, sql`created_at < ${to}`, ...conditions], sql` and `)}`
}

const toFigures = ({ calls, failed_calls, ms, total_ms }: FigureRow): ToolFigures => ({
  calls,
  failed_calls,
  ms: toMilliseconds(ms),
  total_ms,
})
