-- What a prompt waits for before anybody can go on with it. While one of its rows is open, the session needs no process.
create table waits (
  prompt_id  text not null references prompts on delete cascade,
  kind       text not null check (kind in ('approval', 'budget', 'retry')),
  -- approval: the id of the event that asks.
  subject    text not null default '',
  session_id text not null,
  -- When the wait ends by itself; null: once somebody ends it.
  until      timestamptz,
  -- budget: US dollars that the refused model call may cost at most; null: not known.
  needs_usd  numeric,
  -- budget: nobody looks for room before, unless a budget is changed.
  not_before timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (prompt_id, kind, subject)
);
create index waits_of_session on waits (session_id);
create index waits_for_budgets on waits (session_id) where kind = 'budget';

insert into waits (prompt_id, kind, session_id, needs_usd, not_before)
select id, 'budget', session_id, held_needs_usd, held_until from prompts where held_by = 'budget';
insert into waits (prompt_id, kind, subject, session_id, until)
select p.id, 'approval', a.id, a.session_id, a.expires_at
from approvals a join prompts p on p.session_id = a.session_id and p.state = 'running'
where a.state = 'pending';

alter table prompts drop column held_by, drop column held_needs_usd, drop column held_until;
-- Of the time limit of its agent; time in which the prompt waited does not count.
alter table prompts add column ran_ms bigint not null default 0;

-- From when on a process may take the session: null while there is nothing to do, or only somebody's word helps.
alter table sessions add column due_at timestamptz;
create index sessions_due on sessions (due_at) where due_at is not null;

-- What `due_at` has to be. The first in line counts: a prompt that was cut off, else the first that waits.
create function session_due(of_session text) returns timestamptz language sql volatile as $$
  select case
    when first.stop_requested or open.number = 0 then clock_timestamp()
    when open.number > open.bounded then null
    else open.until end
  from (
    select id, stop_requested from prompts where session_id = of_session and state in ('waiting', 'running')
    order by state = 'running' desc, position limit 1
  ) first cross join lateral (
    select count(*) as number, count(until) as bounded, max(until) as until
    from waits where prompt_id = first.id and (until is null or until > clock_timestamp())
  ) open
$$;

update sessions set due_at = session_due(id)
where id in (select session_id from prompts where state in ('waiting', 'running'));
