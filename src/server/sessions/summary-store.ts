import type { Pool } from 'pg'
import type { SessionSummary } from '../../contract/session-summaries.ts'
import type { TailEvent, WaitKind } from './activity.ts'
import { currentFirst } from './queue/prompt-store.ts'

/** What lists show of a session besides its row. */
export interface SummaryRow
  extends Pick<
    SessionSummary,
    | 'id'
    | 'agent_name'
    | 'model'
    | 'waiting_prompts'
    | 'requests'
    | 'input_tokens'
    | 'cached_tokens'
    | 'output_tokens'
    | 'cost_usd'
    | 'unpriced_requests'
  > {
  readonly prompt_state: string | null
  readonly prompt_started_at: Date | null
  readonly prompt_created_at: Date | null
  readonly wait_kind: WaitKind | null
  readonly wait_since: Date | null
  readonly wait_until: Date | null
  readonly has_budget: boolean
  readonly max_usd: string | null
  readonly spent_usd: string | null
  readonly reserved_usd: string | null
  readonly reset_at: Date | null
  readonly tail: readonly TailEvent[]
  /** Process that runs the session; null without a lease or after its end. */
  readonly lease_owner: string | null
  readonly lease_until: Date | null
}

/** Events at the end of a log that are read for what a session does, and characters of each. */
const tailEvents = 30
const headChars = 2_000

const tailTypes = `
  (e.type like 'agent.%tool_%' or e.type like 'user.%tool_result' or e.type like 'span.model_request_%' or e.type = 'agent.message'
   or e.type in ('session.status_running', 'session.status_idle', 'session.error'))`

// The payload is read as text: JSON operators fail on an escaped NUL.
const text = `
  select s.id, a.name as agent_name, current.model,
         (select count(*)::int from prompts p where p.session_id = s.id and p.state = 'waiting') as waiting_prompts,
         used.*, current.state as prompt_state, current.started_at as prompt_started_at, current.created_at as prompt_created_at,
         w.kind as wait_kind, w.created_at as wait_since, w.until as wait_until,
         b.scope_id is not null as has_budget, b.max_usd::text, b.reserved_usd::text,
         case when b.reset_at <= clock_timestamp() then 0 else b.spent_usd end::text as spent_usd,
         case when b.reset_at <= clock_timestamp() then budget_period_end(b.anchored_at, b.duration, clock_timestamp()) else b.reset_at end as reset_at,
         coalesce(last.tail, '[]') as tail,
         case when s.lease_until > clock_timestamp() then s.lease_owner end as lease_owner, s.lease_until
  from sessions s
  left join agents a on a.id = s.agent_id
  left join budgets b on b.scope = 'session' and b.scope_id = s.id
  cross join lateral (
    select count(*)::int as requests,
           coalesce(sum(u.input_tokens + u.cache_read_tokens + u.cache_write_5m_tokens + u.cache_write_1h_tokens), 0)::float8 as input_tokens,
           coalesce(sum(u.cache_read_tokens), 0)::float8 as cached_tokens, coalesce(sum(u.output_tokens), 0)::float8 as output_tokens,
           sum(u.cost_usd)::text as cost_usd, count(*) filter (where u.cost_usd is null)::int as unpriced_requests
    from usage u where u.session_id = s.id
  ) used
  left join lateral (
    select p.id, p.model, p.state, p.started_at, p.created_at from prompts p where p.session_id = s.id and p.kind = 'prompt'
    order by ${currentFirst} limit 1
  ) current on true
  left join lateral (
    select kind, created_at, until from waits
    where session_id = s.id and (until is null or until > clock_timestamp()) order by kind limit 1
  ) w on true
  left join lateral (
    select json_agg(json_build_object('type', type, 'at', created_at, 'head', left(payload::text, ${headChars})) order by seq desc) as tail
    from session_events e
    where e.session_id = s.id and e.seq >= s.next_seq - ${tailEvents} and ${tailTypes} and s.deleted_at is null
  ) last on true
  where s.id = any ($1)`

/** Figures of sessions for lists, from all tables that have some: one statement for a whole page. */
export type SummaryStore = ReturnType<typeof summaryStore>

export function summaryStore(pool: Pool) {
  return {
    async of(ids: readonly string[]): Promise<ReadonlyMap<string, SummaryRow>> {
      const { rows } = await pool.query<SummaryRow>({ name: 'session_summaries', text, values: [ids] })
      return new Map(rows.map(row => [row.id, row]))
    },
  }
}
