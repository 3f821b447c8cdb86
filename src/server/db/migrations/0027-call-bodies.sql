-- What callers asked of models and what they got, where a key or a model wants it recorded. Contents are sealed.
create table call_bodies (
  request_id text primary key,
  principal  text not null,
  api_key_id text,
  owner_id   text,
  model      text not null,
  created_at timestamptz not null default clock_timestamp(),
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null
);
create index call_bodies_created_at on call_bodies (created_at);
-- What is sealed cannot be compressed.
alter table call_bodies alter column sealed set storage external;

-- `{"until": "2026-12-01T00:00:00Z"}`; null: nothing is recorded for the key.
alter table api_keys add column log_bodies json;
