-- Receivers of session events, and how far each of them has got in each session.

create table webhook_endpoints (
  id              text primary key,
  -- Whose sessions it hears of; null: everybody's.
  owner_id        text,
  url             text not null,
  description     text,
  -- Types, or `prefix.*`; empty: all.
  events          text[] not null,
  -- Empty: all.
  agent_ids       text[] not null,
  status          text not null check (status in ('active', 'paused', 'disabled')),
  disabled_reason text,
  -- Since when nothing has been delivered; null while deliveries succeed.
  failing_since   timestamptz,
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp()
);
create index webhook_endpoints_of_owner on webhook_endpoints (owner_id, id desc);

-- An endpoint whose secret is rotated has two for a while.
create table webhook_endpoint_secrets (
  endpoint_id text not null references webhook_endpoints on delete cascade,
  id          text not null,
  version     bigint not null,
  sealed      bytea not null,
  key_id      text not null,
  -- Null: as long as the endpoint itself.
  valid_until timestamptz,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (endpoint_id, id)
);

-- The log of the session is the queue: `seq` is the last event that was delivered, given up or of no interest.
create table webhook_cursors (
  endpoint_id text not null references webhook_endpoints on delete cascade,
  session_id  text not null references sessions,
  seq         bigint not null,
  -- Of the event that comes next.
  attempts    integer not null default 0,
  -- When somebody shall look at it; null: nothing is known to wait. While a replica is at it, when its claim runs out.
  ready_at    timestamptz,
  claim       text,
  primary key (endpoint_id, session_id)
);
create index webhook_cursors_ready on webhook_cursors (ready_at) where ready_at is not null;

create table webhook_endpoint_deliveries (
  id              text not null unique,
  endpoint_id     text not null references webhook_endpoints on delete cascade,
  session_id      text not null,
  seq             bigint not null,
  event_id        text not null,
  event_type      text not null,
  state           text not null check (state in ('pending', 'delivered', 'dead')),
  attempts        integer not null,
  -- Of the receiver's last answer; null when there was none.
  http_status     integer,
  error           text,
  duration_ms     integer not null,
  next_attempt_at timestamptz,
  created_at      timestamptz not null default clock_timestamp(),
  finished_at     timestamptz,
  primary key (endpoint_id, session_id, seq)
);
create index webhook_endpoint_deliveries_by_id on webhook_endpoint_deliveries (endpoint_id, id desc);
create index webhook_endpoint_deliveries_by_time on webhook_endpoint_deliveries (created_at);
