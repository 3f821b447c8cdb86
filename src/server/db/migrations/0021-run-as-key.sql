-- The key under which work runs that a key has set up; null: set up by the master key or an admin key without limits.

alter table agents add column run_as_key_id text;
alter table webhook_endpoints add column run_as_key_id text;
create index webhook_endpoints_of_key on webhook_endpoints (run_as_key_id) where run_as_key_id is not null;
-- `schedules.key_id` has had that meaning from the beginning.
