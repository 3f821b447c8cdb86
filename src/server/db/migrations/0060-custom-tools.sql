-- Calls of tools that a client of the service runs.
create table custom_tool_calls (
  -- That of the `agent.custom_tool_use` event.
  id          text primary key,
  session_id  text not null references sessions,
  -- The call is open while this prompt is.
  prompt_id   text not null,
  tool_use_id text not null,
  name        text not null,
  input       json not null,
  state       text not null default 'pending' check (state in ('pending', 'answered', 'expired')),
  content     json,
  is_error    boolean,
  -- The `user.custom_tool_result` event with the answer.
  answer_id   text,
  -- Principal of the client that answered.
  answered_by text,
  answered_at timestamptz,
  expires_at  timestamptz not null,
  created_at  timestamptz not null default clock_timestamp()
);
create index custom_tool_calls_of_session on custom_tool_calls (session_id, id);

alter table waits drop constraint waits_kind_check;
alter table waits add constraint waits_kind_check
  check (kind in ('approval', 'budget', 'retry', 'freeze', 'custom_tool'));
