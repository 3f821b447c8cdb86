-- Registered MCP servers. `sealed` has the credential and the values of the static headers, bound to the address.
create table mcp_servers (
  server_id        text primary key,
  server_name      text not null unique,
  alias            text unique,
  description      text,
  url              text not null,
  auth_type        text not null,
  has_credentials  boolean not null,
  vault_key        text,
  -- Names of the static headers with their masked values.
  static_headers   json not null,
  allowed_tools    json,
  disallowed_tools json,
  version          bigint not null,
  sealed           bytea,
  key_id           text,
  created_by       text not null,
  created_at       timestamptz not null default clock_timestamp(),
  updated_at       timestamptz not null default clock_timestamp()
);

-- What the last check of a server has found, also of servers of the configuration file. It holds for that address only.
create table mcp_server_states (
  server_id          text primary key,
  url                text not null,
  status             text not null,
  last_checked_at    timestamptz not null,
  last_error         text,
  era                text,
  protocol_version   text,
  -- The accepted tool list, and a changed one that waits for acceptance.
  tools              json,
  tools_hash         text,
  pending_tools      json,
  pending_tools_hash text
);

-- Null allows all servers, or all tools.
alter table api_keys add column mcp_servers json;
alter table api_keys add column mcp_tools json;
