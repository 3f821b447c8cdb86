-- Responses of OpenAI's format that a caller may go on from. The contents stand apart: they exist only for answers that the
-- gateway translated, and they are what sealing anew reads.

create table responses (
  principal     text not null,
  id            text not null,
  deployment    text not null,
  previous_id   text,
  is_translated boolean not null,
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  primary key (principal, id)
);
create index responses_expires_at on responses (expires_at);

create table response_contents (
  principal text not null,
  id        text not null,
  version   bigint not null,
  sealed    bytea not null,
  key_id    text not null,
  primary key (principal, id),
  foreign key (principal, id) references responses (principal, id) on delete cascade
);
-- What is sealed cannot be compressed.
alter table response_contents alter column sealed set storage external;
