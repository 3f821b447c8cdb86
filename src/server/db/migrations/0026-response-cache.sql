-- Answers that calls with the same request get again: for whom, until when, and what a key keeps them for. Contents are sealed.
-- `bytes` is the length of what is sealed: the oldest entries go first when all of them become too long.

create table response_cache (
  principal  text not null,
  id         text not null,
  bytes      integer not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  primary key (principal, id)
);
create index response_cache_expires_at on response_cache (expires_at);
create index response_cache_created_at on response_cache (created_at desc, principal, id) include (bytes);
-- What is sealed cannot be compressed.
alter table response_cache alter column sealed set storage external;

-- `{"ttl": "1h"}`; null: the cache is off for the key, unless its model has one.
alter table api_keys add column cache json;

-- True for a call that the cache answered; null for all others.
alter table usage add column cached boolean;
