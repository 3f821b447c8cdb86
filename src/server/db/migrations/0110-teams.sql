-- People, service accounts and teams. A user acts as one owner at a time: as itself, or as one of its teams.

create table users (
  id              text primary key,
  kind            text not null check (kind in ('person', 'service_account')),
  name            text not null,
  email           text,
  -- Owner of what the user creates for itself.
  owner_id        text not null unique,
  role            text not null check (role in ('admin', 'member', 'viewer')),
  -- The account at the identity provider; null until the first sign-in.
  issuer          text,
  subject         text,
  disabled_at     timestamptz,
  last_sign_in_at timestamptz,
  created_by      text not null,
  created_at      timestamptz not null default clock_timestamp(),
  unique (issuer, subject)
);
create unique index users_by_email on users (lower(email)) where email is not null;

create table teams (
  id         text primary key,
  name       text not null,
  -- Owner of what members create as the team.
  owner_id   text not null unique,
  -- Models that keys of the team may call; empty: all.
  models     json not null default '[]',
  -- Group of the identity provider whose members are members of the team.
  oidc_group text unique,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table team_members (
  team_id    text not null references teams on delete cascade,
  user_id    text not null references users on delete cascade,
  -- `claim`: added and removed by the groups of the identity provider.
  source     text not null check (source in ('manual', 'claim')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (team_id, user_id)
);
create index team_members_of_user on team_members (user_id, created_at, team_id);

-- States of sign-ins that were completed: each is valid once.
create table used_sign_ins (
  state_hash bytea primary key,
  expires_at timestamptz not null
);

alter table api_keys
  -- User or service account that the key belongs to.
  add column user_id text references users on delete set null,
  -- Team that pays for the key; null with a user: the team that the user joined first.
  add column team_id text references teams on delete set null,
  -- True for the key behind the console sign-ins of a user, which has one secret per sign-in.
  add column is_sign_in boolean not null default false;
create index api_keys_of_user on api_keys (user_id) where user_id is not null;
create index api_keys_of_team on api_keys (team_id) where team_id is not null;
create unique index api_keys_of_sign_in on api_keys (user_id, coalesce(team_id, '')) where is_sign_in and revoked_at is null;

alter table budgets drop constraint budgets_scope_check;
alter table budgets add constraint budgets_scope_check check (scope in ('key', 'owner', 'agent', 'session', 'team'));

-- The team that pays for a key and whose model rules apply to it.
create function team_of_key(key_team text, key_user text) returns text
language sql stable as $$
  select case
    when key_user is null or key_team is not null then key_team
    else (select m.team_id from team_members m where m.user_id = key_user order by m.created_at, m.team_id limit 1)
  end
$$;

-- False while the user of the key is disabled, or once it is no longer a member of the team of the key.
create function is_key_in_force(key_team text, key_user text) returns boolean
language sql stable as $$
  select key_user is null or (
    exists (select from users u where u.id = key_user and u.disabled_at is null)
    and (key_team is null or exists (
      select from team_members m where m.team_id = key_team and m.user_id = key_user)))
$$;

create function is_key_valid(key_id text) returns boolean
language sql stable as $$
  select exists (
    select from api_keys k
    where k.id = key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
      and is_key_in_force(k.team_id, k.user_id))
$$;

-- The user of a key limits its owner: a member or viewer acts as itself or as the team of the key.
create function owner_of_key(key_owner text, key_user text, key_team text) returns text
language sql stable as $$
  select case when key_user is null then key_owner else (
    select case
      when u.role = 'admin' or key_owner = u.owner_id
        or key_owner = (select t.owner_id from teams t where t.id = key_team) then key_owner
      else u.owner_id end
    from users u where u.id = key_user) end
$$;

-- No key has a stronger role than its user.
create function role_of_key(key_role text, key_user text) returns text
language sql stable as $$
  select case (select u.role from users u where u.id = key_user)
    when 'viewer' then 'viewer'
    when 'member' then case key_role when 'admin' then 'user' else key_role end
    else key_role end
$$;

-- The calls of a key also count for the budget of its team. Otherwise as in 0066.

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
    union all
    select party, 'session', ancestor from parties join sessions s on s.id = session cross join unnest(s.ancestors) as ancestor
    union all
    select party, 'team', team_of_key(k.team_id, k.user_id) from parties join api_keys k on k.id = key
    where team_of_key(k.team_id, k.user_id) is not null
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
             where k.id = key and k.revoked_at is null and (k.expires_at is null or k.expires_at > read_at)
               and is_key_in_force(k.team_id, k.user_id))) as is_valid,
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
        union all select 'session', unnest(s.ancestors) from sessions s where s.id = party.session
        union all select 'team', team_of_key(k.team_id, k.user_id) from api_keys k where k.id = party.key
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

create or replace function book_costs(given json, batch text, told_at timestamptz)
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
      union all select 'session', unnest(s.ancestors) from sessions s where s.id = session
      -- The team that the slice was reserved for, even if the user has left it since.
      union all select 'team', coalesce(
        (select h.scope_id from json_to_recordset(held_in) as h (scope text, scope_id text) where h.scope = 'team'),
        (select team_of_key(k.team_id, k.user_id) from api_keys k where k.id = key))
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
