-- A slice is a reservation that one process took for many calls of the same payers: it admits them from it in memory. Its
-- `facts` name the payers. Source: decision 0015.

-- The last batch that was booked from a slice, so that one of unknown fate can be sent again.
alter table reservations add column booked_in text;
-- Null for what was lost with a slice: it stands for no single request.
alter table usage alter column request_id drop not null;

-- Adds what calls have cost to the budgets of their payers, and takes it and what is given back from the slices that
-- they were held in. One entry a slice, or one for all calls of the same payers without a slice:
-- `slice`, null without one; `key`, `owner`, `agent` and `session`; `usd` that the calls have cost; `back`, what the slice needs no
-- more; `is_over`: no call draws from it any more; `is_lost`: its process is gone, and what is left of it counts as spent.
-- The rows of the calls come in the same transaction: their request ids keep a batch from being booked twice. The time
-- is `told_at`, or read once the budgets are locked. Returns the budgets whose soft limit was passed.
create function book_costs(given json, batch text, told_at timestamptz)
returns table (scope text, scope_id text, soft_usd numeric, max_usd numeric, spent_usd numeric, reset_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
begin
  -- The next statement sees what became of a slice meanwhile: that it was lost, for one.
  perform from (
    select slice from json_to_recordset(given) as entry (slice text) where slice is not null order by 1
  ) named cross join lateral (select from reservations where request_id = named.slice for update) slice;

  return query
  with entries as materialized (
    select g.slice, r.request_id is not null as is_held, r.held_in, r.facts, u.created_at as lost_at,
           coalesce(g.key, r.facts ->> 'key_id', u.key_id) as key, coalesce(g.owner, r.facts ->> 'owner_id', u.owner_id) as owner,
           coalesce(g.agent, r.facts ->> 'agent_id', u.agent_id) as agent,
           coalesce(g.session, r.facts ->> 'session_id', u.session_id) as session,
           coalesce(g.is_over, false) or coalesce(g.is_lost, false) as is_over, coalesce(g.is_lost, false) as is_lost,
           r.amount_usd as held_usd, coalesce(u.cost_usd, 0) as lost_usd, coalesce(g.back, 0) as back,
           case when g.is_lost then r.amount_usd else coalesce(g.usd, 0) end as usd
    from json_to_recordset(given) as g (
      slice text, key text, owner text, agent text, session text, usd numeric, back numeric, is_over boolean, is_lost boolean)
      left join reservations r on r.request_id = g.slice
      left join usage u on u.id = g.slice and r.request_id is null
    where r.booked_in is distinct from batch
      and (not coalesce(g.is_lost, false) or r.expires_at <= coalesce(told_at, clock_timestamp()))
  ), parts as materialized (
    select *,
           -- Of what the slice still holds.
           case when is_over then held_usd else least(held_usd, usd + back) end as freed,
           -- Of what was counted as lost with it: the calls that have ended after all, and in the end the rest.
           case when is_over then lost_usd else least(lost_usd, usd) end as found
    from entries
  ), costs as materialized (
    select scope, scope_id, usd - found as usd, lost_at
    from parts cross join lateral (
      values ('key', key), ('owner', owner), ('agent', agent), ('session', session)
      union all select 'key', unnest(k.ancestors) from api_keys k where k.id = key
    ) as payer (scope, scope_id)
    where scope_id is not null
  ), frees as materialized (
    select id, scope, scope_id, freed, is_over
    from parts cross join lateral json_to_recordset(held_in) as held (id bigint, scope text, scope_id text)
    where is_held
  ), locked as materialized (
    select b.* from (
      select scope, scope_id from costs union select scope, scope_id from frees order by scope, scope_id
    ) t cross join lateral (
      select * from budgets where scope = t.scope and scope_id = t.scope_id for no key update
    ) b
  ), clock as materialized (
    select case when count(*) >= 0 then coalesce(told_at, clock_timestamp()) end as at from locked
  ), current as materialized (
    select l.scope, l.scope_id, l.id, at,
           case when reset_at <= at then 0 else spent_usd end as spent_usd,
           case when reset_at <= at then null else warned_at end as warned_at,
           case when reset_at <= at then at else period_started_at end as period_started_at,
           case when reset_at <= at then budget_period_end(anchored_at, duration, at) else reset_at end as reset_at
    from locked l, clock
  ), spent as (
    select c.scope, c.scope_id, sum(usd) filter (where lost_at is null or lost_at >= c.period_started_at) as usd
    from current c join costs using (scope, scope_id) group by c.scope, c.scope_id
  ), freed as (
    select id, sum(freed) as usd, count(*) filter (where is_over) as slots from frees group by id
  ), settled as (
    update budgets b
    set spent_usd = c.spent_usd + coalesce(spent.usd, 0), period_started_at = c.period_started_at, reset_at = c.reset_at,
        warned_at = case when c.warned_at is null and c.spent_usd + coalesce(spent.usd, 0) >= b.soft_usd then c.at
                         else c.warned_at end,
        reserved_usd = b.reserved_usd - coalesce(freed.usd, 0), parallel = b.parallel - coalesce(freed.slots, 0)
    from current c left join spent using (scope, scope_id) left join freed using (id)
    where b.id = c.id and b.id = any (array(select id from current))
    returning b.scope, b.scope_id, b.soft_usd, b.max_usd, b.spent_usd, b.reset_at,
              c.warned_at is null and b.warned_at is not null as is_new
  ), gone as (
    delete from reservations where request_id = any (array(select slice from parts where is_held and is_over))
  ), shrunk as (
    update reservations r set amount_usd = r.amount_usd - p.freed, booked_in = batch
    from parts p where r.request_id = p.slice and p.is_held and not p.is_over
  ), mended as (
    update usage u set cost_usd = u.cost_usd - p.found
    from parts p where u.id = p.slice and not p.is_held and p.found > 0
  ), lost as (
    insert into usage (id, principal, key_id, owner_id, agent_id, session_id, alias, deployment, provider, upstream_model, lane,
                       outcome, attempts, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
                       output_tokens, estimated, cost_usd, held_usd, total_ms, created_at)
    select slice, facts ->> 'principal', key, owner, agent, session, '', '', '', '', 'slice',
           'lost', 0, 0, 0, 0, 0, 0, true, held_usd, held_usd, 0, clock.at
    from parts, clock where is_lost
  )
  select scope, scope_id, soft_usd, max_usd, spent_usd, reset_at from settled where is_new;
end $$;
