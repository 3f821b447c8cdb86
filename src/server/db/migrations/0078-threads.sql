-- What the log of a calling session shows of the sessions that it has called.

-- Ids of the events of the called session that ask a person or a client, as of the last entry about them.
alter table subagent_calls add column requests text[] not null default '{}';
-- True while the log reports that the calling session is idle because the sessions that it has called ask.
alter table subagent_calls add column is_idle_logged boolean not null default false;
create index subagent_calls_with_requests on subagent_calls (session_id) where requests <> '{}';
