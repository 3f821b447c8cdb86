-- Threads of AG-UI front-ends. Each is a session of an agent.
create table ag_ui_threads (
  session_id text primary key references sessions,
  principal  text not null,
  agent_id   text not null,
  -- Chosen by the front-end.
  thread_id  text not null,
  -- Tools and texts of the last input, for the next request to the model.
  front_end  json not null default '{"tools":[],"text":""}',
  -- State that front-end and agent share; null: none. Not jsonb, which stores no NUL.
  state      json,
  created_at timestamptz not null default clock_timestamp(),
  unique (principal, agent_id, thread_id)
);

-- Runs of front-ends: which part of the log of a session each of them shows.
create table ag_ui_runs (
  session_id  text not null references sessions,
  run_id      text not null,
  position    bigint generated always as identity,
  -- SHA-256 of what was new in the input.
  input_hash  bytea not null,
  -- Prompts that the run follows, in order.
  prompt_ids  text[] not null,
  -- Messages of users that it has sent.
  message_ids text[] not null,
  -- The run begins after this event.
  after_seq   bigint not null,
  -- State of the input.
  state       json,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (session_id, run_id)
);
create index ag_ui_runs_in_order on ag_ui_runs (session_id, position desc);
