-- A signed delivery is accepted once, whatever its delivery id, which most senders do not sign.

-- SHA-256 of what was signed; null where equal bodies are separate deliveries.
alter table webhook_deliveries add column signed_digest bytea;
create unique index webhook_deliveries_signed on webhook_deliveries (agent_id, signed_digest)
  where signed_digest is not null;
