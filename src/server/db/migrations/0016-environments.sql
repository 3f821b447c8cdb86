-- What the Managed Agents dialect has besides agents and sessions.

create table environments (
  id          text primary key,
  owner_id    text not null,
  name        text not null,
  description text,
  config      json not null,
  metadata    json not null,
  archived_at timestamptz,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp()
);
create index environments_of_owner on environments (owner_id, id desc);

-- What that dialect knows of a session. A session that it has never written to has no row.
create table dialect_sessions (
  session_id     text primary key references sessions,
  -- No foreign key: sessions outlive their environment.
  environment_id text not null default '',
  metadata       json not null default '{}',
  vault_ids      text[] not null default '{}',
  -- The client gave no title; the one of the session is ours.
  is_untitled    boolean not null default false,
  archived_at    timestamptz,
  updated_at     timestamptz not null default clock_timestamp()
);
