-- Files of callers, apart from sessions. Their content is in `workspace_blobs` with the id of the file as owner, so that
-- no other file or session shares its pieces: a deleted file's pieces get the time -infinity in `loose_since`.
create table files (
  id         text primary key,
  owner_id   text not null,
  purpose    text not null,
  filename   text not null,
  media_type text not null,
  bytes      bigint not null,
  -- SHA-256 of the content.
  hash       bytea not null,
  -- Hashes of the pieces, in order.
  pieces     bytea[] not null,
  created_at timestamptz not null default clock_timestamp(),
  -- Null: never.
  expires_at timestamptz
);
create index files_of_owner on files (owner_id, id);
create index files_by_age on files (created_at);
create index files_expire on files (expires_at) where expires_at is not null;

-- Copies of files at providers, by credential (a digest of it and of the provider's address). A row outlives its file until
-- the copy is deleted too.
create table provider_files (
  file_id     text not null,
  credential  text not null,
  -- The provider's own id.
  provider_id text not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (file_id, credential)
);
