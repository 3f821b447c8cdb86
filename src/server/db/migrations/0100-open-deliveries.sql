-- The count of webhooks in progress, for metrics, reads only those.
create index webhook_deliveries_processing on webhook_deliveries (received_at) where status = 'processing';
