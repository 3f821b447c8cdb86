-- Datasets, and experiments that run an agent version or a model on their cases.

create table datasets (
  id          text primary key,
  -- The principal that created it.
  owner_id    text not null,
  name        text not null,
  description text,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp()
);
create index datasets_of_owner on datasets (owner_id, id desc);

-- A case never changes, so that experiments on it can be compared. Content is stored as text, because it may contain escaped NULs.
create table dataset_cases (
  id                text primary key,
  dataset_id        text not null references datasets on delete cascade,
  position          integer not null,
  name              text not null,
  prompts           json not null,
  files             json not null,
  graders           json not null,
  metadata          json not null,
  source_session_id text,
  source_prompt_id  text,
  -- Tool results of the source, in order; null without a recording.
  recorded          json,
  recorded_calls    integer,
  created_at        timestamptz not null default clock_timestamp(),
  unique (dataset_id, position)
);

create table experiments (
  id                   text primary key,
  -- Owner of the sessions.
  owner_id             text not null,
  -- Who started it, and under which key it runs.
  principal            text not null,
  key_id               text,
  name                 text not null,
  dataset_id           text not null,
  dataset_name         text not null,
  agent_id             text,
  agent_version        integer,
  model                text,
  system               text,
  replay               boolean not null,
  max_parallel         integer not null,
  max_budget_usd       numeric,
  case_budget_usd      numeric,
  judge_budget_usd     numeric,
  case_timeout_seconds integer not null,
  state                text not null check (state in ('running', 'cancelling', 'done', 'cancelled')),
  reason               text,
  -- Cases are started again from this time on; the order of experiments that share the processes.
  next_start_at        timestamptz not null default clock_timestamp(),
  created_at           timestamptz not null default clock_timestamp(),
  ended_at             timestamptz
);
create index experiments_of_owner on experiments (owner_id, id desc);
create index experiments_open on experiments (next_start_at) where ended_at is null;
create index experiments_by_end on experiments (ended_at) where ended_at is not null;

create table experiment_cases (
  experiment_id  text not null references experiments on delete cascade,
  position       integer not null,
  case_id        text not null,
  name           text not null,
  state          text not null check (state in ('waiting', 'running', 'grading', 'passed', 'failed', 'error', 'cancelled')),
  replay         boolean not null,
  session_id     text,
  -- Why its session is being stopped.
  stop_reason    text check (stop_reason in ('cancelled', 'timed_out', 'budget_reached')),
  -- Budget of its session, which counts as spent until the case has ended.
  budget_usd     numeric,
  -- The process that grades it, until `claimed_until`.
  claim          uuid,
  claimed_until  timestamptz,
  error_type     text,
  error_message  text,
  score          double precision,
  grades         json,
  answer         text,
  diverged       boolean not null default false,
  cost_usd       numeric,
  unpriced_calls integer not null default 0,
  input_tokens   bigint not null default 0,
  output_tokens  bigint not null default 0,
  duration_ms    double precision,
  started_at     timestamptz,
  ended_at       timestamptz,
  primary key (experiment_id, position),
  unique (experiment_id, case_id)
);
create index experiment_cases_open on experiment_cases (experiment_id, state, position)
  where state in ('waiting', 'running', 'grading');
create unique index experiment_cases_of_session on experiment_cases (session_id) where session_id is not null;
