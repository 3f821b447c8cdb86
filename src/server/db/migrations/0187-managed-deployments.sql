-- Deployments of the Managed Agents dialect: what each of their sessions starts with, and when.
create table managed_deployments (
  id             text primary key,
  owner_id       text not null,
  -- Who changed last what runs or when, and the key that pays for it; null: that of the agent.
  principal      text not null,
  key_id         text,
  name           text not null,
  description    text,
  agent_id       text not null,
  agent_version  integer not null,
  -- Environment, first events, resources, vaults and budget of each session.
  start          json not null,
  metadata       json not null,
  -- Null: only on request.
  cron           text,
  timezone       text,
  -- Null while it is paused, archived or without a schedule.
  next_due_at    timestamptz,
  last_run_at    timestamptz,
  paused_at      timestamptz,
  archived_at    timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp()
);
create index managed_deployments_of_owner on managed_deployments (owner_id, id desc);
create index managed_deployments_due on managed_deployments (next_due_at) where next_due_at is not null;

create table deployment_runs (
  id             text primary key,
  deployment_id  text not null references managed_deployments on delete cascade,
  owner_id       text not null,
  agent_id       text not null,
  agent_version  integer not null,
  -- Null for a run on request.
  scheduled_at   timestamptz,
  -- Both null until the run has started.
  session_id     text,
  error          json,
  -- Until then a process is starting it.
  claimed_until  timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  unique (deployment_id, scheduled_at)
);
create index deployment_runs_of_owner on deployment_runs (owner_id, id desc);
create index deployment_runs_of_deployment on deployment_runs (deployment_id, id desc);
create index deployment_runs_to_start on deployment_runs (id) where session_id is null and error is null;

alter table dialect_sessions add column deployment_id text;
create index dialect_sessions_of_deployment on dialect_sessions (deployment_id) where deployment_id is not null;
