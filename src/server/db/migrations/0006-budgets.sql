-- What may be spent, and what is held for calls at work. Every key has a row; owners, agents and sessions may have one.

create table budgets (
  scope             text not null check (scope in ('key', 'owner', 'agent', 'session')),
  scope_id          text not null,
  -- Tells a row from one that was made under the same name after it was deleted.
  id                bigint generated always as identity unique,
  -- US dollars in a period; null: no limit.
  max_usd           numeric,
  -- From here on a warning is given.
  soft_usd          numeric,
  -- A number and `h`, `d`, `w` or `mo`; null: for life.
  duration          text,
  -- Periods are counted from here.
  anchored_at       timestamptz not null default clock_timestamp(),
  -- When the running period was first written to.
  period_started_at timestamptz not null default clock_timestamp(),
  -- The end of the running period; null without a duration.
  reset_at          timestamptz,
  spent_usd         numeric not null default 0,
  reserved_usd      numeric not null default 0,
  rpm_limit         integer,
  tpm_limit         bigint,
  max_parallel      integer,
  -- The minute that `window_requests` and `window_tokens` count.
  window_started_at timestamptz,
  window_requests   integer not null default 0,
  window_tokens     bigint not null default 0,
  parallel          integer not null default 0,
  -- When the soft limit was passed in this period.
  warned_at         timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  primary key (scope, scope_id)
);

-- The end of the period that `at` lies in. Months are those of the calendar in UTC, all other units have a fixed length.
create function budget_period_end(anchor timestamptz, duration text, at timestamptz) returns timestamptz
language plpgsql immutable as $$
declare
  amount integer := substring(duration from '^[0-9]+')::integer;
  unit text := substring(duration from '[a-z]+$');
  first timestamp := anchor at time zone 'UTC';
  today timestamp := at at time zone 'UTC';
  seconds numeric;
  months integer;
begin
  if duration is null then
    return null;
  end if;
  if unit = 'mo' then
    months := (extract(year from today) - extract(year from first)) * 12 + extract(month from today) - extract(month from first);
    months := greatest(0, months / amount) * amount;
    if first + make_interval(months => months) <= today then
      months := months + amount;
    end if;
    return (first + make_interval(months => months)) at time zone 'UTC';
  end if;
  seconds := amount * case unit when 'h' then 3600 when 'd' then 86400 when 'w' then 604800 end;
  return anchor + make_interval(secs => seconds * greatest(1, floor(extract(epoch from at - anchor) / seconds) + 1));
end $$;

-- One row a call that is at work under a limit.
create table reservations (
  request_id text primary key,
  -- The budgets that it is held in: `[{id, scope, scope_id, minute}]`.
  held_in    json not null,
  amount_usd numeric not null,
  tokens     bigint not null,
  -- What the ledger will say should nobody ever settle it.
  facts      json not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index reservations_by_expiry on reservations (expires_at);

-- Checks one call against all budgets that limit it, which the caller has locked, and takes everything in all of them or
-- nothing. `amount` and `most_tokens` are null when nobody can tell; a call that is not held only counts as a request.
create function reserve_call(
  call_id text, of_key text, of_owner text, of_agent text, of_session text, amount numeric, most_tokens bigint,
  is_held boolean, call_facts json, read_at timestamptz, lifetime interval)
returns table (is_admitted boolean, is_key_valid boolean, budgets json)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with locked as materialized (
    -- One that got its first limit a moment ago is seen here, and was not there to be locked by the caller.
    select b.* from (values ('agent', of_agent), ('key', of_key), ('owner', of_owner), ('session', of_session))
      as payer (scope, scope_id) cross join lateral (
        select * from budgets
        where scope = payer.scope and scope_id = payer.scope_id
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
  ), checked as materialized (
    select *,
           rpm_limit is null or requests < rpm_limit as has_requests,
           tpm_limit is null or not is_held or coalesce(tokens + most_tokens <= tpm_limit, false) as has_tokens,
           max_parallel is null or not is_held or parallel < max_parallel as has_slot,
           max_usd is null or not is_held or coalesce(amount = 0 or spent_usd + reserved_usd + amount <= max_usd, false)
             as has_money
    from current
  ), verdict as materialized (
    select coalesce(bool_and(has_requests and has_tokens and has_slot and has_money), true) as fits,
           of_key is null or exists (
             select from api_keys k
             where k.id = of_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > read_at)) as is_valid
    from checked
  ), taken as (
    update budgets b
    set spent_usd = c.spent_usd, warned_at = c.warned_at, reset_at = c.reset_at, period_started_at = c.period_started_at,
        reserved_usd = b.reserved_usd + coalesce(amount, 0), parallel = b.parallel + is_held::integer,
        window_started_at = c.minute, window_requests = c.requests + 1, window_tokens = c.tokens + coalesce(most_tokens, 0)
    from checked c, verdict v
    where v.fits and v.is_valid and b.id = c.id and b.id = any (array(select id from checked))
    returning b.id, b.scope, b.scope_id, c.minute
  ), held as (
    insert into reservations (request_id, held_in, amount_usd, tokens, facts, expires_at)
    select call_id,
           json_agg(json_build_object('id', id, 'scope', scope, 'scope_id', scope_id, 'minute', minute)),
           coalesce(amount, 0), coalesce(most_tokens, 0), call_facts, read_at + lifetime
    from taken where is_held having count(*) > 0
  )
  select v.fits and v.is_valid, v.is_valid, coalesce((
    select json_agg(json_build_object(
      'scope', scope, 'scope_id', scope_id, 'max_usd', max_usd::text, 'soft_usd', soft_usd::text, 'duration', duration,
      'rpm_limit', rpm_limit, 'tpm_limit', tpm_limit, 'max_parallel', max_parallel, 'spent_usd', spent_usd::text,
      'reserved_usd', reserved_usd::text, 'parallel', parallel, 'requests', requests, 'tokens', tokens,
      'reset_at', reset_at, 'window_rest_s', ceil(extract(epoch from minute + interval '1 minute' - read_at)),
      'is_warned', coalesce(spent_usd >= soft_usd, false), 'has_requests', has_requests, 'has_tokens', has_tokens,
      'has_slot', has_slot, 'has_money', has_money
    ) order by scope, scope_id) from checked), '[]')
  from verdict v;
end $$;
