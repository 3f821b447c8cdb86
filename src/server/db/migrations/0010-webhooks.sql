-- Deliveries of webhooks, for seven days. The primary key is what makes one session of one delivery.

create table webhook_deliveries (
  agent_id      text not null,
  -- As the sender named it, or made up when it did not.
  delivery_id   text not null,
  id            text not null unique,
  owner_id      text not null,
  kind          text not null check (kind in ('webhook', 'replay', 'test')),
  replay_of     text,
  status        text not null check (status in ('processing', 'accepted', 'skipped', 'failed')),
  -- Who works on it, and until when nobody else may; null once that is over.
  claim         text,
  claimed_until timestamptz,
  attempts      integer not null default 1,
  session_id    text not null default '',
  prompt_id     text,
  event         text,
  headers       json not null,
  payload_bytes integer not null,
  -- Sealed; null when it was too long to keep.
  payload       bytea,
  error         text,
  received_at   timestamptz not null default clock_timestamp(),
  finished_at   timestamptz,
  primary key (agent_id, delivery_id)
);
create index webhook_deliveries_of_owner on webhook_deliveries (owner_id, id desc);
create index webhook_deliveries_of_agent on webhook_deliveries (agent_id, received_at);
create index webhook_deliveries_by_time on webhook_deliveries (received_at);

-- Which session goes on with an issue or a thread.
create table webhook_conversations (
  agent_id   text not null,
  -- SHA-256 of what the deliveries have in common.
  key        bytea not null,
  -- Null until the transaction that makes it has the session.
  session_id text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (agent_id, key)
);
