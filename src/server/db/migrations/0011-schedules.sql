-- Prompts that are due by the clock, and what became of each tick.

create table schedules (
  id           text primary key,
  -- The owner of the agent.
  owner_id     text not null,
  -- Who wrote it last: their key pays.
  principal    text not null,
  key_id       text,
  name         text not null,
  agent_id     text not null,
  cron         text not null,
  timezone     text not null,
  prompt       text not null,
  session      text not null check (session in ('new', 'same')),
  -- The session of the last run, for `same`.
  session_id   text,
  overlap      text not null check (overlap in ('skip', 'queue', 'allow')),
  missed       text not null check (missed in ('skip', 'once', 'all')),
  missed_limit integer not null,
  status       text not null check (status in ('active', 'paused')),
  -- Null while it is paused, and when it will never be due again.
  next_due_at  timestamptz,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);
create index schedules_of_owner on schedules (owner_id, id desc);
create index schedules_due on schedules (next_due_at) where next_due_at is not null;

-- The primary key makes a tick happen once, whatever the replicas do.
create table schedule_runs (
  schedule_id text not null references schedules on delete cascade,
  due_at      timestamptz not null,
  id          text not null unique,
  cause       text not null check (cause in ('tick', 'missed', 'manual')),
  state       text not null check (state in ('queued', 'started', 'skipped', 'failed')),
  reason      text,
  session_id  text,
  prompt_id   text,
  -- True until its prompt was seen to have ended.
  is_open     boolean not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (schedule_id, due_at)
);
create index schedule_runs_open on schedule_runs (schedule_id, due_at) where is_open;
