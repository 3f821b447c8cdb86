-- Virtual keys. What they may spend is a row of `budgets`.

create table api_keys (
  id           text primary key,
  label        text not null,
  owner_id     text,
  role         text not null check (role in ('user', 'admin')),
  -- Names or `provider/*`; empty allows all.
  models       json not null,
  metadata     json not null,
  prefix       text not null,
  last4        text not null,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  created_by   text not null,
  created_at   timestamptz not null default clock_timestamp()
);
create index api_keys_of_owner on api_keys (owner_id, id desc);

-- A key that is rotated has two for a while.
create table api_key_hashes (
  -- HMAC-SHA-256 of the key under the service's pepper.
  hash        bytea primary key,
  key_id      text not null references api_keys on delete cascade,
  -- Null: as long as the key itself.
  valid_until timestamptz,
  created_at  timestamptz not null default clock_timestamp()
);
create index api_key_hashes_of_key on api_key_hashes (key_id);

-- The key that queued a prompt pays for its model calls; null: the master key.
alter table prompts add column key_id text;
-- A prompt that a budget has stopped waits for more money, not for a runner.
alter table prompts add column held_by text check (held_by in ('budget')),
  -- US dollars that the refused model call may cost at most; null: not known.
  add column held_needs_usd numeric,
  -- How often it was stopped in a row without any progress, and until when it is left alone.
  add column held_times integer not null default 0,
  add column held_until timestamptz,
  add constraint prompts_held_wait check (held_by is null or state = 'waiting');
create index prompts_held on prompts (session_id) where held_by is not null;
alter table stream_tickets add column key_id text;
