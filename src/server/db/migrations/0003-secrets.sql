-- Values that are sealed before they come here. `version` and the row's own names are bound into the seal, so a value
-- that is moved to another row, or put back from an older copy, does not open. `key_id` names the encryption key.

create table vault_entries (
  -- Empty: global.
  owner_id   text not null,
  key        text not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (owner_id, key)
);

-- What the service itself made up and must keep, such as the pepper of key hashes.
create table service_secrets (
  name       text primary key,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- One credential a provider; it goes only to the host that it was stored for.
create table provider_credentials (
  id         text primary key,
  provider   text not null,
  api_base   text not null,
  masked     text not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

-- Models that were added by the API. Those of the configuration file are not here.
create table deployments (
  id         text primary key,
  model_name text not null,
  -- As `params` of the configuration file, without any secret.
  params     json not null,
  -- The secrets among the params, as sealed JSON; null when the provider's credential serves.
  version    bigint not null,
  sealed     bytea,
  key_id     text,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index deployments_of_model on deployments (model_name);
