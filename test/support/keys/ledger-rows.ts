import type { Insertable, Kysely } from 'kysely'
import type { Database } from '../../../src/server/db/database.ts'
import type { UsageTable } from '../../../src/server/db/tables/spending.ts'

/** A row of the ledger; what is not given is that of a finished call with the master key. */
export const ledgerRow = (id: string, changes: Partial<Insertable<UsageTable>> = {}): Insertable<UsageTable> => ({
  id,
  request_id: `req_${id}`,
  principal: 'master',
  owner_id: null,
  agent_id: null,
  session_id: null,
  prompt_id: null,
  client_session_id: null,
  client_agent_id: null,
  client_parent_id: null,
  alias: 'opus',
  deployment: 'opus.1',
  provider: 'anthropic',
  upstream_model: 'claude-opus-5',
  lane: 'raw',
  outcome: 'completed',
  stop_reason: 'end_turn',
  status: 200,
  attempts: 1,
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  estimated: false,
  cost_usd: '0',
  degraded: null,
  key_id: null,
  run_id: null,
  protocol: 'anthropic-messages',
  reasoning_tokens: 0,
  web_searches: 0,
  rates: null,
  price_source: null,
  held_usd: null,
  first_content_ms: null,
  total_ms: 1,
  ...changes,
})

/** Puts rows into the ledger as they are. */
export async function addLedgerRows(db: Kysely<Database>, rows: readonly Insertable<UsageTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('usage').values(rows).execute()
}
