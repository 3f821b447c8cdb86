-- What becomes of a deleted session after its grace: `purged_at` ends its reading, `emptied_at` says that nothing is left.
-- Entries of the audit log that are older than the configuration keeps them may be deleted, by that clean-up alone.

alter table sessions
  add column purged_at  timestamptz,
  add column emptied_at timestamptz;
create index sessions_to_empty on sessions (deleted_at) where deleted_at is not null and emptied_at is null;

create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('switchyard.retention', true) = 'on' then
    return old;
  end if;
  raise exception '% is append-only', tg_table_name;
end $$;
