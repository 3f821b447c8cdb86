import type { Insertable } from 'kysely'
import type { UsageTable } from '../db/tables/spending.ts'
import type { TraceContext } from '../platform/trace-context.ts'

/** Ledger row of one model call. The database sets its time. */
export interface UsageRow
  extends Omit<Insertable<UsageTable>, 'created_at' | 'rates' | 'reasoning_tokens' | 'units' | 'web_searches'> {
  /** US dollars per token by kind, as exact decimals; null if the price is unknown. */
  readonly rates: Readonly<Record<string, string>> | null
  /** Part of the output. */
  readonly reasoning_tokens: number
  readonly web_searches: number
  /** Units other than tokens, such as `{character: 120}`. */
  readonly units?: Readonly<Record<string, number>> | null
  /** Slice of budgets that the call was drawn from instead of a separate reservation. Not stored. */
  readonly slice_id?: string | null
  /** Kind of the call, as `CallKind`. Not stored. */
  readonly kind?: string
  /** Trace context that the caller sent. Not stored. */
  readonly trace?: TraceContext | null
}

/** A budget that just reached its soft limit. Amounts are exact decimals. */
export interface SoftLimitPassed {
  readonly scope: string
  readonly scope_id: string
  readonly soft_usd: string
  readonly max_usd: string | null
  readonly spent_usd: string
  readonly reset_at: Date | null
}

/** Columns to write, in the order of COPY. */
export const columns = [
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
  'key_id',
  'run_id',
  'protocol',
  'reasoning_tokens',
  'web_searches',
  'units',
  'rates',
  'price_source',
  'held_usd',
  'cached',
  'batch_id',
  'first_content_ms',
  'total_ms',
] as const satisfies readonly (keyof UsageRow)[]
