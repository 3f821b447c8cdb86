-- Foreign runtimes. A key goes only to the address that it was stored for, which is bound into its seal.

-- One credential a built-in runtime.
create table runtime_credentials (
  id         text primary key,
  api_base   text not null,
  masked     text not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

-- Harnesses that were registered by the API. Those of the configuration file are not here.
create table runtime_harnesses (
  alias        text primary key,
  api_spec     text not null,
  display_name text not null,
  api_base     text not null,
  -- Null, as `sealed` and `key_id`, for a harness without a key.
  masked       text,
  version      bigint not null,
  sealed       bytea,
  key_id       text,
  created_by   text not null,
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);

-- What the last test of a runtime has said. It holds for that address and that version of the row it was made with.
create table runtime_health (
  id         text primary key,
  api_base   text not null,
  -- 0: a harness of the configuration file.
  version    bigint not null,
  checked_at timestamptz not null,
  -- Null: well.
  error      text
);
