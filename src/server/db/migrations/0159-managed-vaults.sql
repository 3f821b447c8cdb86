-- Vaults of the Managed Agents dialect. The secret of a credential is the entry of `vault_entries` with its id as key.
create table managed_vaults (
  id           text primary key,
  owner_id     text not null,
  display_name text not null,
  metadata     json not null,
  archived_at  timestamptz,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);
create index managed_vaults_of_owner on managed_vaults (owner_id, id desc);

create table vault_credentials (
  id             text primary key,
  vault_id       text not null references managed_vaults on delete cascade,
  display_name   text,
  type           text not null,
  mcp_server_url text not null,
  expires_at     timestamptz,
  metadata       json not null,
  archived_at    timestamptz,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp()
);
create index credentials_of_vault on vault_credentials (vault_id, id desc);
-- One active credential for an address; addresses may be longer than an index entry.
create unique index active_credentials on vault_credentials (vault_id, md5(mcp_server_url)) where archived_at is null;
