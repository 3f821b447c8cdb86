-- What may be spent, and what is held for calls at work. Every key has a row; owners, agents and sessions may have one.

create table budgets (
  scope             text not null check (scope in ('key', 'owner', 'agent', 'session')),
  scope_id          text not null,
  -- US dollars in a period; null: no limit.
  max_usd           numeric,
  -- From here on a warning is given.
  soft_usd          numeric,
  -- A number and `h`, `d`, `w` or `mo`; null: for life.
  duration          text,
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

-- One row a call that is at work under a limit.
create table reservations (
  request_id text primary key,
  -- The budgets that it is held in: `[{scope, scope_id, window_started_at, period_reset_at}]`.
  held_in    json not null,
  amount_usd numeric not null,
  tokens     bigint not null,
  -- What the ledger will say should nobody ever settle it.
  facts      json not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index reservations_by_expiry on reservations (expires_at);
