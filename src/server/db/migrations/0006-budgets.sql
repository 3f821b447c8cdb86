-- What may be spent, and what is held for calls at work. Every key has a row; owners, agents and sessions may have one.

create table budgets (
  scope             text not null check (scope in ('key', 'owner', 'agent', 'session')),
  scope_id          text not null,
  -- Tells a row from one that was made under the same name after it was deleted.
  id                bigint generated always as identity,
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
