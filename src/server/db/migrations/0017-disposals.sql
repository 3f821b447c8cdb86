-- What a deleted session left at its runtime is removed until that succeeds.

alter table sessions
  add column disposed_at   timestamptz,
  add column dispose_after timestamptz;
update sessions set disposed_at = deleted_at where deleted_at is not null;
create index sessions_to_dispose on sessions (dispose_after) where deleted_at is not null and disposed_at is null;
