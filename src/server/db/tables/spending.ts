import type { ColumnType, Generated } from 'kysely'
import type { DefaultTime, Json, JsonObject } from './columns.ts'

/** Table `usage`: one row per model call. */
export interface UsageTable {
  id: string
  /** Null for the lost rest of a slice of budgets. */
  request_id: string | null
  principal: string
  owner_id: string | null
  agent_id: string | null
  session_id: string | null
  prompt_id: string | null
  client_session_id: string | null
  client_agent_id: string | null
  client_parent_id: string | null
  alias: string
  deployment: string
  provider: string
  upstream_model: string
  lane: string
  outcome: 'completed' | 'failed' | 'aborted' | 'lost'
  stop_reason: string | null
  status: number | null
  attempts: number
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  estimated: boolean
  /** US dollars as an exact decimal; null if the price is unknown. */
  cost_usd: string | null
  degraded: string | null
  key_id: string | null
  run_id: string | null
  protocol: string | null
  /** Part of `output_tokens`. */
  reasoning_tokens: Generated<number>
  web_searches: Generated<number>
  /** Units other than tokens. */
  units: ColumnType<Readonly<Record<string, number>> | null, string | null | undefined, string | null>
  /** Applied US dollars per token by kind. */
  rates: ColumnType<Readonly<Record<string, string>> | null, string | null | undefined, string | null>
  price_source: string | null
  /** US dollars that were reserved for the call. */
  held_usd: string | null
  /** True if the response cache answered. */
  cached: ColumnType<boolean | null, boolean | null | undefined, boolean | null>
  /** Batch of the call. */
  batch_id: ColumnType<string | null, string | null | undefined, string | null>
  first_content_ms: number | null
  total_ms: number
  created_at: DefaultTime
}

/** Table `tool_calls`: calls of tools in sessions that have their result. */
export interface ToolCallTable {
  /** Id of the event of the result. */
  id: string
  created_at: Date
  session_id: string
  owner_id: string
  agent_id: string
  agent_version: number | null
  tool: string
  is_error: boolean
  /** Null for a call that a person approved. */
  ms: number | null
}

/** Table `freezes`: subjects whose spending is frozen. */
export interface FreezeTable {
  id: string
  scope: 'key' | 'owner' | 'all'
  scope_id: string
  reason: string | null
  is_by_limited_key: boolean
  created_by: string
  created_at: DefaultTime
}

/** Table `budgets`: limits and counters of keys, owners, agents and sessions. Amounts are exact decimals. */
export interface BudgetTable {
  scope: 'key' | 'owner' | 'agent' | 'session' | 'team'
  scope_id: string
  id: Generated<number>
  max_usd: string | null
  soft_usd: string | null
  duration: string | null
  anchored_at: DefaultTime
  period_started_at: DefaultTime
  reset_at: Date | null
  spent_usd: Generated<string>
  reserved_usd: Generated<string>
  rpm_limit: number | null
  tpm_limit: number | null
  max_parallel: number | null
  window_started_at: Date | null
  window_requests: Generated<number>
  window_tokens: Generated<number>
  parallel: Generated<number>
  warned_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `reservations`: amounts reserved for calls in flight. */
export interface ReservationTable {
  /** Request id of a call, or the id of a slice for many calls. */
  request_id: string
  held_in: Json
  amount_usd: string
  tokens: number
  facts: Json<JsonObject>
  /** Last batch that was booked from a slice. */
  booked_in: string | null
  expires_at: Date
  created_at: DefaultTime
}
