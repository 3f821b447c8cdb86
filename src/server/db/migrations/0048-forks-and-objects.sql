-- Sessions that begin with what another one had until an event, and pieces of files in an object store.

-- `forked_from_seq` is of the other session's log, `forked_at_seq` the last event of the own one that was copied.
alter table sessions
  add column forked_from_id  text,
  add column forked_from_seq bigint,
  add column forked_at_seq   bigint;

-- A piece is either here or in the object store, under a key that is used once.
alter table workspace_blobs
  alter column data drop not null,
  add column object_key text,
  add check ((data is null) <> (object_key is null));

-- Objects that are to be deleted: those whose piece is gone, and those that are being written, until their piece is stored.
create table workspace_objects (
  object_key   text primary key,
  delete_after timestamptz not null
);
create index workspace_objects_due on workspace_objects (delete_after);
