-- The files of sessions: a checkpoint names the files as of an event of the log, blobs hold their content.

-- The last checkpoint of a session; null before the first.
alter table sessions
  add column checkpoint_id  text,
  add column checkpoint_seq bigint;

-- `manifest` is JSON, compressed: all files, or the changes since the checkpoint before. `left_out`: files that no checkpoint holds, and why.
create table workspace_checkpoints (
  session_id text not null references sessions,
  seq        bigint not null,
  id         text not null unique,
  is_full    boolean not null,
  manifest   bytea not null,
  files      integer not null,
  bytes      bigint not null,
  left_out   json not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, seq)
);
alter table workspace_checkpoints alter column manifest set storage external;

-- Pieces of files, at most 1 MiB each, named by their SHA-256 and kept once an owner. `loose_since`: no session was known to need it then.
create table workspace_blobs (
  owner_id    text not null,
  hash        bytea not null,
  bytes       integer not null,
  encoding    text not null check (encoding in ('raw', 'zstd')),
  data        bytea not null,
  loose_since timestamptz default clock_timestamp(),
  primary key (owner_id, hash)
);
alter table workspace_blobs alter column data set storage external;
create index workspace_blobs_loose on workspace_blobs (loose_since) where loose_since is not null;

-- Which session needs which blob.
create table workspace_refs (
  session_id text not null references sessions,
  owner_id   text not null,
  hash       bytea not null,
  primary key (session_id, hash)
);
create index workspace_refs_of_blob on workspace_refs (owner_id, hash);
