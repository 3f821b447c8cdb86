-- Progress of each stream of each log sink. `position`: time of the last row that was sent.
create table log_sinks (
  name            text not null,
  stream          text not null,
  started_at      timestamptz not null default clock_timestamp(),
  position        timestamptz not null default clock_timestamp(),
  claim           uuid,
  claimed_until   timestamptz,
  attempts        integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  failing_since   timestamptz,
  last_error      text,
  last_sent_at    timestamptz,
  sent            bigint not null default 0,
  primary key (name, stream)
);

-- Rows that were sent and are close to the position: a row becomes visible later than others with a later time.
create table log_sink_sent (
  name       text not null,
  stream     text not null,
  id         text not null,
  created_at timestamptz not null,
  -- The call was sent as lost, and may still end.
  is_lost    boolean not null default false,
  primary key (name, stream, id)
);
create index log_sink_sent_by_time on log_sink_sent (name, stream, created_at);
create index log_sink_sent_lost on log_sink_sent (name, created_at) where is_lost;
