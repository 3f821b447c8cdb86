-- Keys form a tree: the calls of a key reserve in the budgets of its ancestors as well.

-- The key that created this one; null: the master key. It never changes.
alter table api_keys add column parent_id text,
  -- The parent, its parent and so on, at most eight.
  add column ancestors text[] not null default '{}';
create index api_keys_of_ancestor on api_keys using gin (ancestors);

-- Checks calls against all budgets that limit them, those of the key's ancestors included, and takes those whose budgets
-- have room for all that is asked of them here; a call is taken in all its budgets or in none. So the answer for a call that is asked alone is final, and one of
-- several that was not taken has to be asked again alone. One row for all calls with the same payers: `places` are the calls,
-- counted from 1. An `amount_usd` or `tokens` of null is not known; a call that is not held only counts as a request.
create or replace function reserve_together(payers json, calls json, read_at timestamptz, lifetime interval)
returns table (places integer[], is_admitted boolean, is_key_valid boolean, budgets json)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select * from rows from (json_to_recordset(calls) as (
      party bigint, request_id text, amount_usd numeric, tokens bigint, is_held boolean, facts json))
      with ordinality as given (party, request_id, amount_usd, tokens, is_held, facts, place)
  ), parties as materialized (
    select party, key, owner, agent, session, array_agg(place::integer) as places, count(*) as requests,
           count(*) filter (where is_held) as slots, coalesce(sum(amount_usd), 0) as usd, coalesce(sum(tokens), 0) as tokens,
           bool_or(is_held and amount_usd is null) as is_priceless, bool_or(is_held and tokens is null) as is_boundless
    from asked join rows from (json_to_recordset(payers) as (key text, owner text, agent text, session text))
      with ordinality as payer (key, owner, agent, session, party) using (party)
    group by party, key, owner, agent, session
  ), named as materialized (
    select party, scope, scope_id
    from parties cross join lateral (values ('agent', agent), ('key', key), ('owner', owner), ('session', session))
      as payer (scope, scope_id)
    where scope_id is not null
    union all
    select party, 'key', ancestor from parties join api_keys k on k.id = key cross join unnest(k.ancestors) as ancestor
  ), locked as materialized (
    -- One that got its first limit a moment ago is seen here, and was not there to be locked by the caller.
    select b.* from (select distinct scope, scope_id from named order by scope, scope_id) n cross join lateral (
      select * from budgets
      where scope = n.scope and scope_id = n.scope_id
        and num_nonnulls(max_usd, soft_usd, rpm_limit, tpm_limit, max_parallel) > 0
      for no key update
    ) b
  ), current as materialized (
    select id, scope, scope_id, max_usd, soft_usd, duration, rpm_limit, tpm_limit, max_parallel, reserved_usd, parallel,
           case when reset_at <= read_at then 0 else spent_usd end as spent_usd,
           case when reset_at <= read_at then null else warned_at end as warned_at,
           case when reset_at <= read_at then read_at else period_started_at end as period_started_at,
           case when reset_at <= read_at then budget_period_end(anchored_at, duration, read_at) else reset_at end as reset_at,
           date_trunc('minute', read_at) as minute,
           case when window_started_at = date_trunc('minute', read_at) then window_requests else 0 end as requests,
           case when window_started_at = date_trunc('minute', read_at) then window_tokens else 0 end as tokens
    from locked
  ), wanted as materialized (
    select scope, scope_id, sum(requests) as requests, sum(slots) as slots, sum(usd) as usd, sum(tokens) as tokens,
           bool_or(is_priceless) as is_priceless, bool_or(is_boundless) as is_boundless
    from named join parties using (party) group by scope, scope_id
  ), checked as materialized (
    select c.*,
           rpm_limit is null or c.requests + w.requests <= rpm_limit as has_requests,
           tpm_limit is null or slots = 0 or (not is_boundless and c.tokens + w.tokens <= tpm_limit) as has_tokens,
           max_parallel is null or slots = 0 or parallel + slots <= max_parallel as has_slot,
           max_usd is null or slots = 0 or (not is_priceless and (usd = 0 or spent_usd + reserved_usd + usd <= max_usd))
             as has_money
    from current c join wanted w using (scope, scope_id)
  ), verdicts as materialized (
    select party, bool_and(coalesce(has_requests and has_tokens and has_slot and has_money, true)) as fits,
           bool_and(key is null or exists (
             select from api_keys k
             where k.id = key and k.revoked_at is null and (k.expires_at is null or k.expires_at > read_at))) as is_valid,
           json_agg(json_build_object('id', c.id, 'scope', c.scope, 'scope_id', c.scope_id, 'minute', c.minute))
             filter (where c.id is not null) as held_in,
           coalesce(json_agg(json_build_object(
             'scope', c.scope, 'scope_id', c.scope_id, 'max_usd', max_usd::text, 'soft_usd', soft_usd::text,
             'duration', duration, 'rpm_limit', rpm_limit, 'tpm_limit', tpm_limit, 'max_parallel', max_parallel,
             'spent_usd', spent_usd::text, 'reserved_usd', reserved_usd::text, 'parallel', parallel,
             'requests', c.requests, 'tokens', c.tokens, 'reset_at', reset_at,
             'window_rest_s', ceil(extract(epoch from minute + interval '1 minute' - read_at)),
             'is_warned', coalesce(spent_usd >= soft_usd, false), 'has_requests', has_requests,
             'has_tokens', has_tokens, 'has_slot', has_slot, 'has_money', has_money
           ) order by c.scope, c.scope_id) filter (where c.id is not null), '[]') as budgets
    from parties left join named using (party) left join checked c using (scope, scope_id)
    group by party
  ), admitted as materialized (
    select party, held_in from verdicts where fits and is_valid and held_in is not null
  ), sums as (
    select scope, scope_id, sum(requests) as requests, sum(slots) as slots, sum(usd) as usd, sum(tokens) as tokens
    from admitted join named using (party) join parties using (party) group by scope, scope_id
  ), taken as (
    update budgets b
    set spent_usd = c.spent_usd, warned_at = c.warned_at, reset_at = c.reset_at, period_started_at = c.period_started_at,
        reserved_usd = b.reserved_usd + s.usd, parallel = b.parallel + s.slots, window_started_at = c.minute,
        window_requests = c.requests + s.requests, window_tokens = c.tokens + s.tokens
    from checked c join sums s using (scope, scope_id)
    where b.id = c.id and b.id = any (array(select id from checked))
  ), held as (
    insert into reservations (request_id, held_in, amount_usd, tokens, facts, expires_at)
    select request_id, held_in, coalesce(amount_usd, 0), coalesce(tokens, 0), facts, read_at + lifetime
    from asked join admitted using (party) where is_held
  )
  select p.places, v.fits and v.is_valid, v.is_valid, v.budgets from verdicts v join parties p using (party);
end $$;

-- Holds calls as if they came one after the other, in their order. Locks the budgets that limit any of them, always in the
-- same order, and only then reads the clock, unless `told_at` is the time: whoever comes later sees a later time.
create or replace function reserve_calls(payers json, calls json, told_at timestamptz, lifetime interval)
returns table (places integer[], is_admitted boolean, is_key_valid boolean, budgets json)
language plpgsql as $$
declare
  verdict record;
  place integer;
  read_at timestamptz;
  left_over integer[] := '{}';
begin
  perform from (
    select distinct payer.scope, payer.scope_id
    from json_to_recordset(payers) as party (key text, owner text, agent text, session text)
      cross join lateral (
        values ('agent', agent), ('key', key), ('owner', owner), ('session', session)
        union all select 'key', unnest(k.ancestors) from api_keys k where k.id = party.key
      ) as payer (scope, scope_id)
    where payer.scope_id is not null order by 1, 2
  ) n cross join lateral (
    -- One look-up by key after the other, however many budgets there are.
    select from budgets b
    where b.scope = n.scope and b.scope_id = n.scope_id
      and num_nonnulls(max_usd, soft_usd, rpm_limit, tpm_limit, max_parallel) > 0
    for no key update
  ) b;
  read_at := coalesce(told_at, clock_timestamp());
  for verdict in select * from reserve_together(payers, calls, read_at, lifetime) loop
    if verdict.is_admitted or not verdict.is_key_valid or json_array_length(calls) = 1 then
      places := verdict.places;
      is_admitted := verdict.is_admitted;
      is_key_valid := verdict.is_key_valid;
      budgets := verdict.budgets;
      return next;
    else
      left_over := left_over || verdict.places;
    end if;
  end loop;
  for place in select unnest(left_over) order by 1 loop
    return query
      select array[place], v.is_admitted, v.is_key_valid, v.budgets
      from reserve_together(payers, json_build_array(calls -> place - 1), read_at, lifetime) v;
  end loop;
end $$;
