-- Calls of MCP tools, without arguments and results.
create table mcp_calls (
  id             text primary key,
  created_at     timestamptz not null,
  server_id      text not null,
  server_name    text not null,
  tool           text not null,
  via            text not null,
  principal      text not null,
  key_id         text,
  outcome        text not null,
  error_code     text,
  ms             integer not null,
  request_bytes  bigint not null,
  response_bytes bigint not null
);
create index mcp_calls_by_time on mcp_calls (created_at desc, id desc);
create index mcp_calls_of_principal on mcp_calls (principal, created_at desc, id desc);

-- How tokens of a server with auth_type oauth2 are obtained; null for other types.
alter table mcp_servers add column oauth2_flow text;
update mcp_servers set oauth2_flow = 'client_credentials' where auth_type = 'oauth2';

-- Logins that have begun, by the SHA-256 of their state. A row is deleted by the callback that uses it.
create table mcp_authorizations (
  state_hash text primary key,
  server_id  text not null,
  principal  text not null,
  url        text not null,
  version    bigint not null,
  sealed     bytea not null,
  key_id     text not null,
  expires_at timestamptz not null
);
create index mcp_authorizations_by_end on mcp_authorizations (expires_at);

-- Tokens of principals at servers, valid for one address. One process refreshes a row at a time.
create table mcp_logins (
  server_id        text not null,
  principal        text not null,
  url              text not null,
  version          bigint not null,
  sealed           bytea not null,
  key_id           text not null,
  refreshing_until timestamptz,
  created_at       timestamptz not null default clock_timestamp(),
  primary key (server_id, principal)
);
