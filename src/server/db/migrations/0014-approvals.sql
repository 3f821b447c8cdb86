-- What a runtime must find again after a crash, and tool calls that wait for a person.

alter table sessions add column runtime_state json not null default '{}';

-- For lists of those that failed.
create index sessions_failed on sessions (id desc) where last_outcome = 'failed';

create table approvals (
  -- That of the `agent.tool_use` that asks.
  id          text primary key,
  session_id  text not null references sessions,
  tool_use_id text not null,
  name        text not null,
  input       json,
  -- Of name and arguments, so that nobody allows anything else than what they saw.
  digest      text not null,
  state       text not null default 'pending'
    check (state in ('pending', 'allowed', 'denied', 'expired', 'cancelled')),
  message     text,
  -- Principal of whoever decided.
  decided_by  text,
  decided_at  timestamptz,
  -- When the call that was allowed began to run: that happens once.
  spent_at    timestamptz,
  expires_at  timestamptz not null,
  created_at  timestamptz not null default clock_timestamp()
);
create index approvals_of_session on approvals (session_id, id);
create index approvals_pending on approvals (session_id) where state = 'pending';
