-- The processes that share this database. Writing its row is also how a process tests that the database can be written.
create table replicas (
  id uuid primary key,
  seen_at timestamptz not null
);
