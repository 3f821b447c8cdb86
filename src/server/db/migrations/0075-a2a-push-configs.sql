-- Receivers of the changes of A2A tasks, and how far each of them has got. The log of the session is the queue.
create table a2a_push_configs (
  -- Prompt.
  task_id       text not null,
  id            text not null,
  session_id    text not null references sessions,
  url           text not null,
  -- Of the URL: slow receivers are limited by it.
  host          text not null,
  -- Authentication scheme; null: none.
  scheme        text,
  -- Token and credentials, encrypted.
  version       bigint not null,
  sealed        bytea not null,
  key_id        text not null,
  -- Key under which it is sent; null: no limits and no expiry.
  run_as_key_id text,
  -- `stopped`: the receiver is gone, did not answer any attempt, or the key is no longer valid.
  state         text not null default 'active' check (state in ('active', 'done', 'stopped')),
  -- Last event whose changes were sent.
  seq           bigint not null,
  -- False until the whole task as of `seq` was sent.
  has_task      boolean not null default false,
  -- Of the next notification.
  attempts      integer not null default 0,
  -- When it is read next; null: nothing new is known. While a replica sends, when its claim expires.
  ready_at      timestamptz,
  claim         text,
  created_at    timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create index a2a_push_configs_ready on a2a_push_configs (ready_at) where ready_at is not null;
create index a2a_push_configs_active on a2a_push_configs (session_id) where state = 'active';
create index a2a_push_configs_of_session on a2a_push_configs (session_id);
