-- Id of a response at the upstream that stores it, where callers know it by another id; null: the same id.
alter table responses add column upstream_id text;

-- Responses that run in the background. The row in `responses` exists from their creation on. `sealed`: the request, until
-- the response has ended. `next_event`: number of the next event. `fence` rises with each claim, and rejects late writes.
create table background_responses (
  principal   text not null,
  id          text not null,
  api_key_id  text,
  status      text not null default 'queued',
  is_stream   boolean not null,
  next_event  integer not null,
  -- Runs that started and neither ended nor were put back.
  starts      integer not null default 0,
  is_cancelled boolean not null default false,
  due_at      timestamptz not null default clock_timestamp(),
  fence       bigint not null default 0,
  lease_owner text,
  lease_until timestamptz,
  created_at  timestamptz not null default clock_timestamp(),
  version     bigint not null,
  sealed      bytea,
  key_id      text,
  primary key (principal, id),
  foreign key (principal, id) references responses (principal, id) on delete cascade
);
create index background_responses_open on background_responses (due_at) where status in ('queued', 'in_progress');

-- Events of background responses, several per row. `place`: number of the first one, with ten digits.
create table background_events (
  principal  text not null,
  id         text not null,
  place      text not null,
  last_event integer not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  primary key (principal, id, place),
  foreign key (principal, id) references background_responses (principal, id) on delete cascade
);
-- Encrypted values cannot be compressed.
alter table background_responses alter column sealed set storage external;
alter table background_events alter column sealed set storage external;
