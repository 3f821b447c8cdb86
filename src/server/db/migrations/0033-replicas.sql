-- The processes that share this database. Writing its row is also how a process tests that the database can be written.
create table replicas (
  id uuid primary key,
  -- The marker of its data folder; null until it was read.
  folder_id text,
  seen_at timestamptz not null
);
