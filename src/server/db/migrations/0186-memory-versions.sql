-- Changes of memories of memory stores. The newest version of a memory that exists has the id in its `version_id`.
create table memory_versions (
  id          text primary key,
  store_id    text not null references memory_stores on delete cascade,
  -- The memory may be deleted.
  memory_id   text not null,
  operation   text not null check (operation in ('created', 'modified', 'deleted')),
  -- Null once it is redacted; content, hash and size also for a deletion.
  path        text,
  content     text,
  sha256      text,
  bytes       integer,
  -- Key of the caller, or the principal of one without a key; null for an agent.
  key_id      text,
  -- Session whose agent made the change.
  session_id  text,
  created_at  timestamptz not null default clock_timestamp(),
  redacted_at timestamptz,
  redacted_by text
);
create index memory_versions_of_store on memory_versions (store_id, id desc);
create index memory_versions_of_memory on memory_versions (memory_id, id desc);
create index memory_versions_by_age on memory_versions (store_id, created_at);

insert into memory_versions (id, store_id, memory_id, operation, path, content, sha256, bytes, created_at)
select version_id, store_id, id, 'created', path, content, sha256, bytes, updated_at from stored_memories
on conflict do nothing;
