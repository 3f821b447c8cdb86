-- What a call's price was made of, whose key paid, and how to find all that one agent, owner or key has used.

alter table usage add column key_id text;
alter table usage add column run_id text;
alter table usage add column protocol text;
-- Part of `output_tokens`.
alter table usage add column reasoning_tokens bigint not null default 0;
alter table usage add column web_searches integer not null default 0;
-- US dollars per token by kind, as they were applied; null when the price is not known.
alter table usage add column rates json;
-- Where the rates come from, with its version.
alter table usage add column price_source text;
-- What was held for the call; null when nothing was.
alter table usage add column held_usd numeric;
-- `lost`: the process ended at work, and what was held counts as spent.
alter table usage drop constraint usage_outcome_check;
alter table usage add constraint usage_outcome_check check (outcome in ('completed', 'failed', 'aborted', 'lost'));

-- A call is booked once, whoever books it and however often.
create unique index usage_of_request on usage (request_id);
create index usage_lost on usage (request_id) where outcome = 'lost';
drop index usage_of_session;
create index usage_of_session on usage (session_id, created_at) where session_id is not null;
create index usage_by_time on usage (created_at);
create index usage_of_key on usage (key_id, created_at) where key_id is not null;
create index usage_of_owner on usage (owner_id, created_at) where owner_id is not null;
create index usage_of_agent on usage (agent_id, created_at) where agent_id is not null;
