-- What a turn of a session writes, each in one statement: a prompt is accepted, a run begins, and it ends.

-- Appends events at the end of a log. Without a fence: whoever runs the session. No rows when a later fence owns the session,
-- or it was deleted.
create function append_events(of_session text, of_fence bigint, ids text[], types text[], payloads text[], size bigint)
returns table (seq bigint, created_at timestamptz, owner_id text) language plpgsql as $$
declare
  log record;
begin
  update sessions s
  set next_seq = next_seq + cardinality(ids), log_bytes = log_bytes + size, updated_at = clock_timestamp()
  where s.id = of_session and (of_fence is null or s.fence = of_fence) and s.deleted_at is null
  returning s.next_seq - cardinality(ids) as first, s.fence, s.owner_id into log;
  if not found then
    return;
  end if;
  return query
    with stored as (
      insert into session_events as e (session_id, seq, id, type, payload, bytes, fence)
      select of_session, log.first + given.n - 1, given.id, given.type, given.payload::json, octet_length(given.payload), log.fence
      from unnest(ids, types, payloads) with ordinality as given (id, type, payload, n)
      returning e.seq, e.created_at
    )
    select stored.seq, stored.created_at, log.owner_id from stored order by stored.seq;
end $$;

-- Queues a prompt and appends its message. `outcome`: `accepted`, or why not: `gone`, `known` (under `prompt_id`, by its message id),
-- `archived`, `busy` or `full`.
create function accept_prompt(
  of_session text, new_id text, new_parts json, new_model text, new_system text, new_mode text, new_message_id text,
  by_principal text, by_key text, most_waiting integer, ids text[], types text[], payloads text[], size bigint
) returns table (outcome text, prompt_id text, seq bigint, created_at timestamptz, owner_id text) language plpgsql as $$
declare
  session record;
  queue record;
  place bigint;
begin
  select s.next_position, s.deleted_at into session from sessions s where s.id = of_session for update;
  if not found or session.deleted_at is not null then
    outcome := 'gone';
    return next;
    return;
  end if;
  select p.id into prompt_id from prompts p where p.session_id = of_session and p.message_id = new_message_id;
  if found then
    outcome := 'known';
    return next;
    return;
  end if;
  select count(*) filter (where p.state = 'waiting') as waiting, count(*) as unfinished,
         min(p.position) filter (where p.state = 'waiting') as first,
         exists (select from dialect_sessions d where d.session_id = of_session and d.archived_at is not null) as is_archived
  into queue from prompts p where p.session_id = of_session and p.state in ('waiting', 'running');
  outcome := case
    when queue.is_archived then 'archived'
    when new_mode = 'reject' and queue.unfinished > 0 then 'busy'
    when queue.waiting >= most_waiting then 'full' end;
  if outcome is not null then
    return next;
    return;
  end if;
  -- An interrupting prompt goes before those that wait.
  place := case when new_mode = 'interrupt' then queue.first - 1 end;
  insert into prompts (id, session_id, position, parts, model, system, mode, message_id, principal, key_id)
  values (new_id, of_session, coalesce(place, session.next_position), new_parts, new_model, new_system, new_mode, new_message_id,
          by_principal, by_key);
  update sessions s
  set next_position = s.next_position + case when place is null then 1 else 0 end, due_at = session_due(of_session)
  where s.id = of_session;
  return query
    select 'accepted', new_id, a.seq, a.created_at, a.owner_id
    from append_events(of_session, null, ids, types, payloads, size) a;
end $$;

-- Marks a waiting prompt as running under a run, and says so in the log.
create function begin_run(
  of_session text, of_fence bigint, of_prompt text, of_run text, ids text[], types text[], payloads text[], size bigint
) returns table (seq bigint, created_at timestamptz, owner_id text) language plpgsql as $$
begin
  return query select * from append_events(of_session, of_fence, ids, types, payloads, size);
  if not found then
    return;
  end if;
  delete from waits where prompt_id = of_prompt;
  update prompts set state = 'running', run_id = of_run, started_at = clock_timestamp() where id = of_prompt and state = 'waiting';
end $$;

-- Stores the last events of a run, and with them how its prompts and the session stand. Gives the lease back unless a prompt can
-- be worked on; `is_released` says so. No numbers when a later fence owns the session, or it was deleted.
create function end_run(
  of_session text, of_fence bigint, prompt_state text, outcome text, ids text[], types text[], payloads text[], size bigint,
  out seqs bigint[], out times timestamptz[], out owner_id text, out is_released boolean
) language plpgsql as $$
declare
  due timestamptz;
begin
  select array_agg(a.seq order by a.seq), array_agg(a.created_at order by a.seq), max(a.owner_id) into seqs, times, owner_id
  from append_events(of_session, of_fence, ids, types, payloads, size) a;
  if seqs is null then
    return;
  end if;
  update approvals set state = case when expires_at <= clock_timestamp() then 'expired' else 'cancelled' end
  where session_id = of_session and state = 'pending';
  delete from waits w using prompts p where p.id = w.prompt_id and p.session_id = of_session and p.state = 'running';
  update prompts set state = prompt_state, ended_at = clock_timestamp() where session_id = of_session and state = 'running';
  due := session_due(of_session);
  is_released := due is null or due > clock_timestamp();
  update sessions s
  set last_outcome = outcome, due_at = due,
      lease_owner = case when is_released then null else s.lease_owner end,
      lease_until = case when is_released then null else s.lease_until end,
      sandbox_status = case when is_released and s.sandbox_status = 'running' then 'stopped' else s.sandbox_status end
  where s.id = of_session;
end $$;

-- What a dead process left is found without a look at all that waits.
create index sessions_leased on sessions (due_at) where lease_owner is not null;
