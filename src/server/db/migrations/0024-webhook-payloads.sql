-- Payloads that are kept for replay have a table of their own, with what sealing anew needs. Those kept before are dropped,
-- for their seals are bound to no version; they were kept for seven days.

create table webhook_payloads (
  agent_id    text not null,
  delivery_id text not null,
  version     bigint not null,
  sealed      bytea not null,
  key_id      text not null,
  primary key (agent_id, delivery_id),
  foreign key (agent_id, delivery_id) references webhook_deliveries (agent_id, delivery_id) on delete cascade
);
-- What is sealed cannot be compressed.
alter table webhook_payloads alter column sealed set storage external;

alter table webhook_deliveries drop column payload;
