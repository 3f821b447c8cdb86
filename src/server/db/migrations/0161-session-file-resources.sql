-- Uploaded files that were copied into the workspace of a session as resources of the Managed Agents dialect.
create table session_file_resources (
  id         text primary key,
  session_id text not null references sessions,
  file_id    text not null,
  mount_path text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index file_resources_of_session on session_file_resources (session_id, id);
