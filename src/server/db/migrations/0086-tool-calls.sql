-- Calls of tools in sessions that have their result, without arguments and results. `ms` is null for a call that a person approved.
create table tool_calls (
  id            text primary key,
  created_at    timestamptz not null,
  session_id    text not null,
  owner_id      text not null,
  agent_id      text not null,
  agent_version integer,
  tool          text not null,
  is_error      boolean not null,
  ms            integer
);
create index tool_calls_by_time on tool_calls (created_at);
create index tool_calls_of_agent on tool_calls (agent_id, created_at);
create index tool_calls_of_session on tool_calls (session_id, created_at);
