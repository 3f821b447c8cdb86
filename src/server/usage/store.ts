import { CompiledQuery, type Insertable, type Kysely } from 'kysely'
import type { Database, UsageTable } from '../db/types.ts'

/** The record of one model call; the database dates it. */
export type UsageRow = Omit<Insertable<UsageTable>, 'created_at'>

const columns: readonly (keyof UsageRow)[] = [
  'id',
  'request_id',
  'principal',
  'owner_id',
  'agent_id',
  'session_id',
  'prompt_id',
  'client_session_id',
  'client_agent_id',
  'client_parent_id',
  'alias',
  'deployment',
  'provider',
  'upstream_model',
  'lane',
  'outcome',
  'stop_reason',
  'status',
  'attempts',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'estimated',
  'cost_usd',
  'degraded',
  'first_content_ms',
  'total_ms',
]

/** A whole batch is one value: with one a field, building the statement would cost more than many a call itself. */
const insertText = `
  insert into usage (${columns.join(', ')})
  select ${columns.join(', ')} from json_populate_recordset(null::usage, $1)
  on conflict (id) do nothing`

export type UsageStore = ReturnType<typeof usageStore>

/** Table `usage`: one row a model call. */
export function usageStore(db: Kysely<Database>) {
  return {
    /** Adds rows. One that is there already stays as it is, so a batch of unknown fate can be sent again. */
    async insert(rows: readonly UsageRow[]): Promise<void> {
      if (rows.length > 0) await db.executeQuery(CompiledQuery.raw(insertText, [JSON.stringify(rows)]))
    },
  }
}
