-- Agents, their versions, sessions with their prompts, runs and events, the ledger of model calls.
-- JSON is stored as `json`, not `jsonb`: it keeps key order, and takes the NUL escape that model output can hold.

create table agents (
  id          text primary key,
  owner_id    text not null,
  name        text not null,
  model       text not null,
  system      text not null,
  description text,
  harness     text not null,
  tools       json not null,
  config      json not null,
  status      text not null default 'active' check (status in ('active', 'paused', 'archived')),
  version     integer not null default 1,
  created_at  timestamptz not null default clock_timestamp()
);
-- Ids are time-ordered, so lists page by id, newest first.
create index agents_of_owner on agents (owner_id, id desc);

-- No foreign key: sessions run the version that they were made with, also after the agent is gone.
create table agent_versions (
  agent_id   text not null,
  version    integer not null,
  snapshot   json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (agent_id, version)
);

create table sessions (
  id                   text primary key,
  owner_id             text not null,
  title                text not null,
  agent                text not null,
  agent_id             text not null,
  agent_version        integer,
  harness              text not null,
  runtime              text not null,
  runtime_agent_ref_id text,
  provider_session_id  text,
  provider_run_id      text,
  environment          json not null,
  timezone             text,
  next_seq             bigint not null default 1,
  log_bytes            bigint not null default 0,
  next_position        bigint not null default 1,
  fence                bigint not null default 0,
  lease_owner          text,
  lease_until          timestamptz,
  last_outcome         text check (last_outcome in ('completed', 'failed', 'cancelled')),
  sandbox_status       text not null default 'none' check (sandbox_status in ('none', 'running', 'stopped', 'dead')),
  deleted_at           timestamptz,
  created_at           timestamptz not null default clock_timestamp(),
  updated_at           timestamptz not null default clock_timestamp()
);
create index sessions_of_agent on sessions (agent_id, id desc);
create index sessions_of_owner on sessions (owner_id, id desc);
create index sessions_held on sessions (lease_until) where lease_owner is not null;

create table prompts (
  id               text primary key,
  session_id       text not null references sessions,
  position         bigint not null,
  parts            json not null,
  model            text not null,
  system           text,
  mode             text not null check (mode in ('enqueue', 'reject', 'interrupt', 'steer')),
  state            text not null default 'waiting' check (state in ('waiting', 'running', 'done', 'error', 'cancelled')),
  message_id       text,
  principal        text not null,
  run_id           text,
  resumes          integer not null default 0,
  stop_requested   boolean not null default false,
  created_at       timestamptz not null default clock_timestamp(),
  started_at       timestamptz,
  ended_at         timestamptz,
  unique (session_id, message_id)
);
create index prompts_in_order on prompts (session_id, position, id);
create index prompts_open on prompts (session_id, position) where state in ('waiting', 'running');

create table session_events (
  session_id text not null references sessions,
  seq        bigint not null,
  id         text not null,
  type       text not null,
  payload    json not null,
  fence      bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, seq)
);

create table stream_tickets (
  hash       bytea primary key,
  session_id text not null references sessions,
  principal  text not null,
  expires_at timestamptz not null
);

create table usage (
  id                  text primary key,
  request_id          text not null,
  principal           text not null,
  owner_id            text,
  agent_id            text,
  session_id          text,
  prompt_id           text,
  client_session_id   text,
  client_agent_id     text,
  client_parent_id    text,
  alias               text not null,
  deployment          text not null,
  provider            text not null,
  upstream_model      text not null,
  lane                text not null,
  outcome             text not null check (outcome in ('completed', 'failed', 'aborted')),
  stop_reason         text,
  status              integer,
  attempts            integer not null,
  input_tokens        bigint not null,
  cache_read_tokens   bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens       bigint not null,
  estimated           boolean not null,
  first_content_ms    double precision,
  total_ms            double precision not null,
  created_at          timestamptz not null default clock_timestamp()
);
create index usage_of_session on usage (session_id, id desc) where session_id is not null;

create table idempotency_keys (
  principal  text not null,
  route      text not null,
  key        text not null,
  body_hash  bytea not null,
  response   json,
  created_at timestamptz not null default clock_timestamp(),
  primary key (principal, route, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
