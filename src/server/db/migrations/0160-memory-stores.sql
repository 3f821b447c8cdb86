-- Memory stores of the Managed Agents dialect.
create table memory_stores (
  id          text primary key,
  owner_id    text not null,
  name        text not null,
  description text not null,
  metadata    json not null,
  archived_at timestamptz,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp()
);
create index memory_stores_of_owner on memory_stores (owner_id, id desc);

create table stored_memories (
  id         text primary key,
  store_id   text not null references memory_stores on delete cascade,
  version_id text not null,
  path       text collate "C" not null,
  content    text not null,
  sha256     text not null,
  bytes      integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (store_id, path)
);

-- Memory stores of sessions. Name, description and instructions stay as they were when the session was created.
create table session_memory_stores (
  id           text primary key,
  session_id   text not null references sessions,
  store_id     text not null,
  access       text not null,
  name         text not null,
  description  text not null,
  instructions text,
  mount_path   text not null,
  created_at   timestamptz not null default clock_timestamp(),
  unique (session_id, mount_path)
);
