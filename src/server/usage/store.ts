import type { Pool } from 'pg'
import { isAbsent } from '../platform/json.ts'
import { type Batch, bookStore } from './book-store.ts'
import { columns, type SoftLimitPassed, type UsageRow } from './rows.ts'

export type { UsageRow } from './rows.ts'

/** Calls to settle. */
export interface EndedCalls extends Batch {
  /** Ids of requests with a reservation that never reached an upstream. */
  readonly released: readonly string[]
}

/** Columns that the late end of a `lost` call updates. Its ids and its reserved amount stay. */
const updatedColumns = columns.filter(name => !['id', 'request_id', 'held_usd'].includes(name))

/**
 * The cost of a call also counts for the team and the ancestors of its key, and for the ancestors of its session. The team is that
 * of the reservation, even if the user of the key has left it since.
 */
const payers = (call: string) => `(
    values ('key', key_id), ('owner', owner_id), ('agent', agent_id), ('session', session_id)
    union all select 'key', unnest(k.ancestors) from api_keys k where k.id = key_id
    union all select 'session', unnest(s.ancestors) from sessions s where s.id = session_id
    union all select 'team', coalesce(
      (select team_id from doomed where doomed.request_id = ${call}.request_id),
      (select team_of_key(k.team_id, k.user_id) from api_keys k where k.id = key_id))
  ) as payer (scope, scope_id)`

/**
 * Settles each call once: deletes its reservation, inserts its row, adds its cost to every budget that it counts for.
 * The batch is one JSON parameter, because one parameter per field makes the statement expensive to build.
 *
 * Locks reservations, then budgets, each in a fixed order. Then it reads the clock, which dates the rows and selects
 * the budget period. The lateral joins look rows up by key: the planner does not know that a batch is small, and would
 * scan whole tables. A row with outcome `lost` counts only if its reservation has expired; if the call ends later, that
 * row replaces it.
 */
const settleText = (clock: string) => `
  with given as materialized (
    select * from json_populate_recordset(null::usage, $1)
  ), ended as materialized (
    select request_id, outcome, input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens + output_tokens as used
    from given union all select json_array_elements_text($2), 'released', 0
  ), doomed as materialized (
    select r.request_id, r.held_in, r.amount_usd, r.tokens, e.outcome, e.used,
           (select h.scope_id from json_to_recordset(r.held_in) as h (scope text, scope_id text) where h.scope = 'team') as team_id
    from (select * from ended order by request_id) e cross join lateral (
      select * from reservations
      where request_id = e.request_id and (e.outcome <> 'lost' or expires_at <= ${clock}) for update
    ) r
  ), freed as materialized (
    select h.id, h.scope, h.scope_id, h.minute, d.amount_usd, d.outcome = 'released' as is_undone,
           case when d.outcome = 'lost' then 0 else d.used - d.tokens end as tokens
    from doomed d cross join lateral (
      select * from json_to_recordset(d.held_in) as held (id bigint, scope text, scope_id text, minute timestamptz) limit 16
    ) h
  ), touched as materialized (
    select scope, scope_id from given cross join lateral ${payers('given')} where scope_id is not null
    union select scope, scope_id from freed
  ), locked as materialized (
    select b.* from (select * from touched order by scope, scope_id) t cross join lateral (
      select * from budgets where scope = t.scope and scope_id = t.scope_id for no key update
    ) b
  ), clock as materialized (
    select case when count(*) >= 0 then ${clock} end as at from locked
  ), gone as (
    delete from reservations where request_id = any (array(select request_id from doomed))
  ), fresh as (
    insert into usage (${columns.join(', ')}, created_at)
    select ${columns.join(', ')}, clock.at from given g, clock
    where g.outcome <> 'lost' or exists (select from doomed d where d.request_id = g.request_id)
    on conflict (request_id) do nothing
    returning request_id, key_id, owner_id, agent_id, session_id, coalesce(cost_usd, 0) as usd, null::timestamptz as lost_at
  ), late as (
    update usage u set ${updatedColumns.map(name => `${name} = g.${name}`).join(', ')} from given g
    where u.request_id = g.request_id and u.outcome = 'lost' and g.outcome <> 'lost'
      and u.request_id = any (array(select request_id from given))
    returning u.request_id, u.key_id, u.owner_id, u.agent_id, u.session_id, coalesce(u.cost_usd, 0) - coalesce(u.held_usd, 0) as usd,
              u.created_at as lost_at
  ), spent as (
    select scope, scope_id, usd, lost_at
    from (select * from fresh union all select * from late) as booked cross join lateral ${payers('booked')}
    where scope_id is not null
  ), current as (
    select l.scope, l.scope_id, l.id, at, minute,
           case when reset_at <= at then 0 else spent_usd end as spent_usd,
           case when reset_at <= at then null else warned_at end as warned_at,
           case when reset_at <= at then at else period_started_at end as period_started_at,
           case when reset_at <= at then budget_period_end(anchored_at, duration, at) else reset_at end as reset_at,
           case when window_started_at = minute then window_requests else 0 end as requests,
           case when window_started_at = minute then window_tokens else 0 end as tokens
    from locked l, clock, lateral (select date_trunc('minute', at) as minute) as now
  ), costs as (
    select c.scope, c.scope_id,
           sum(usd) filter (where lost_at is null or lost_at >= c.period_started_at) as usd
    from current c join spent using (scope, scope_id) group by c.scope, c.scope_id
  ), frees as (
    select c.scope, c.scope_id, sum(f.amount_usd) as usd, count(*) as slots,
           sum(f.tokens) filter (where f.minute = c.minute) as tokens,
           count(*) filter (where f.minute = c.minute and f.is_undone) as requests
    from current c join freed f using (id) group by c.scope, c.scope_id
  ), settled as (
    update budgets b
    set spent_usd = c.spent_usd + coalesce(costs.usd, 0), period_started_at = c.period_started_at, reset_at = c.reset_at,
        warned_at = case when c.warned_at is null and c.spent_usd + coalesce(costs.usd, 0) >= b.soft_usd then c.at
                         else c.warned_at end,
        reserved_usd = b.reserved_usd - coalesce(frees.usd, 0), parallel = b.parallel - coalesce(frees.slots, 0),
        window_started_at = c.minute, window_requests = c.requests - coalesce(frees.requests, 0),
        window_tokens = c.tokens + coalesce(frees.tokens, 0)
    from current c left join costs using (scope, scope_id) left join frees using (scope, scope_id)
    where b.id = c.id and b.id = any (array(select id from current))
    returning b.scope, b.scope_id, b.soft_usd, b.max_usd, b.spent_usd, b.reset_at,
              c.warned_at is null and b.warned_at is not null as is_new
  )
  select scope, scope_id, soft_usd, max_usd, spent_usd, reset_at from settled where is_new`

/** True for a call with a separate reservation, or one whose reservation has expired. */
const isReserved = ({ held_usd, slice_id, outcome }: UsageRow): boolean =>
  outcome === 'lost' || (!isAbsent(held_usd) && isAbsent(slice_id))

interface Options {
  /** SQL that reads the time; the database clock by default. */
  readonly clock?: string
}

export type UsageStore = ReturnType<typeof usageStore>

/** Table `usage`: one row per model call. The same transaction adds the cost to table `budgets`. */
export function usageStore(pool: Pool, { clock }: Options = {}) {
  const text = settleText(clock ?? 'clock_timestamp()')
  const { book } = bookStore(pool, clock)
  return {
    /**
     * Books calls and ends their reservations. Returns the budgets that reached their soft limit. Skips calls that were
     * settled before, so a batch whose commit is uncertain may be sent again unchanged.
     */
    async settle({ id, rows, released, shares }: EndedCalls): Promise<readonly SoftLimitPassed[]> {
      const { own = [], rest = [] } = Object.groupBy(rows, row => (isReserved(row) ? 'own' : 'rest'))
      const passed = rest.length === 0 && shares.length === 0 ? [] : await book({ id, rows: rest, shares })
      if (own.length === 0 && released.length === 0) return passed
      const values = [JSON.stringify(own), JSON.stringify(released)]
      const { rows: others } = await pool.query<SoftLimitPassed>({ name: 'settle', text, values })
      return [...passed, ...others]
    },
  }
}
