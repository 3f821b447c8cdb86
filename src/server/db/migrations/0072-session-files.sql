-- Files that prompts of a session carry: which pieces hold their content. Events and prompts have their names.
create table session_files (
  session_id text not null references sessions,
  -- SHA-256 of the content.
  hash       bytea not null,
  -- Owner of the pieces.
  owner_id   text not null,
  bytes      integer not null,
  -- Hashes of the pieces, in order.
  pieces     bytea[] not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, hash)
);
