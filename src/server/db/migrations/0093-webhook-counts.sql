-- Requests to webhooks that the log of deliveries does not have: wrong tokens and signatures, too many, repeated ones.
create table webhook_counts (
  agent_id text not null,
  hour     timestamptz not null,
  kind     text not null,
  count    bigint not null,
  last_at  timestamptz not null,
  primary key (agent_id, hour, kind)
);
create index webhook_counts_by_hour on webhook_counts (hour);
