-- The statements of a turn change the row of their session once.

drop function accept_prompt(
  text, text, json, text, text, text, text, text, text, integer, text[], text[], text[], bigint
);

-- Queues a prompt and appends its message. `outcome`: `accepted`, or why not: `gone`, `known` (under `prompt_id`, by its message id),
-- `archived`, `busy` or `full`. A process that names itself as `taker` gets the lease of a session in which nothing else is to do, and
-- the run of the prompt begins: `taken` is then the session as it was before, `fence` its new one.
create function accept_prompt(
  of_session text, new_id text, new_parts json, new_model text, new_system text, new_mode text, new_message_id text,
  by_principal text, by_key text, most_waiting integer, ids text[], types text[], payloads text[], size bigint,
  taker text default null, for_time interval default null, new_run text default null, begun_id text default null
) returns table (
  outcome text, prompt_id text, seq bigint, created_at timestamptz, owner_id text, fence bigint, taken json
) language plpgsql as $$
declare
  session sessions%rowtype;
  queue record;
  place bigint;
  is_taken boolean;
  begun text;
begin
  select s.* into session from sessions s where s.id = of_session for update;
  if not found or session.deleted_at is not null then
    outcome := 'gone';
    return next;
    return;
  end if;
  if new_message_id is not null then
    select p.id into prompt_id from prompts p where p.session_id = of_session and p.message_id = new_message_id;
    if found then
      outcome := 'known';
      return next;
      return;
    end if;
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
  is_taken := taker is not null and queue.unfinished = 0
    and (session.lease_until is null or session.lease_until < clock_timestamp());
  if is_taken then
    begun := format('{"prompt_id":%s,"run_id":%s}', to_json(new_id)::text, to_json(new_run)::text);
    ids := ids || begun_id;
    types := types || 'session.status_running'::text;
    payloads := payloads || begun;
    size := size + octet_length(begun);
  end if;
  insert into prompts (
    id, session_id, position, parts, model, system, mode, message_id, principal, key_id, state, run_id, started_at
  ) values (
    new_id, of_session, coalesce(place, session.next_position), new_parts, new_model, new_system, new_mode, new_message_id,
    by_principal, by_key, case when is_taken then 'running' else 'waiting' end, case when is_taken then new_run end,
    case when is_taken then clock_timestamp() end
  );
  update sessions s
  set next_position = s.next_position + case when place is null then 1 else 0 end,
      due_at = case when queue.unfinished = 0 then clock_timestamp() else session_due(of_session) end,
      next_seq = s.next_seq + cardinality(ids), log_bytes = s.log_bytes + size, updated_at = clock_timestamp(),
      fence = s.fence + case when is_taken then 1 else 0 end,
      lease_owner = case when is_taken then taker else s.lease_owner end,
      lease_until = case when is_taken then clock_timestamp() + for_time else s.lease_until end
  where s.id = of_session;
  return query
    insert into session_events as e (session_id, seq, id, type, payload, bytes, fence)
    select of_session, session.next_seq + given.n - 1, given.id, given.type, given.payload::json, octet_length(given.payload),
           session.fence + case when is_taken then 1 else 0 end
    from unnest(ids, types, payloads) with ordinality as given (id, type, payload, n)
    returning 'accepted', new_id, e.seq, e.created_at, session.owner_id, e.fence,
              case when is_taken and e.seq = session.next_seq then row_to_json(session) end;
end $$;

-- The row is changed as if nothing waited; the lock on it then keeps new prompts away while that is looked at.
create or replace function end_run(
  of_session text, of_fence bigint, prompt_state text, outcome text, ids text[], types text[], payloads text[], size bigint,
  out seqs bigint[], out times timestamptz[], out owner_id text, out is_released boolean
) language plpgsql as $$
declare
  log record;
  due timestamptz;
begin
  update sessions s
  set next_seq = s.next_seq + cardinality(ids), log_bytes = s.log_bytes + size, updated_at = clock_timestamp(),
      last_outcome = outcome, due_at = null, lease_owner = null, lease_until = null,
      sandbox_status = case s.sandbox_status when 'running' then 'stopped' else s.sandbox_status end
  from sessions before
  where before.id = of_session and s.id = before.id and s.fence = of_fence and s.deleted_at is null
  returning s.next_seq - cardinality(ids) as first, s.owner_id, before.lease_owner, before.lease_until, before.sandbox_status into log;
  if not found then
    return;
  end if;
  owner_id := log.owner_id;
  with stored as (
    insert into session_events as e (session_id, seq, id, type, payload, bytes, fence)
    select of_session, log.first + given.n - 1, given.id, given.type, given.payload::json, octet_length(given.payload), of_fence
    from unnest(ids, types, payloads) with ordinality as given (id, type, payload, n)
    returning e.seq, e.created_at
  )
  select array_agg(stored.seq order by stored.seq), array_agg(stored.created_at order by stored.seq) into seqs, times from stored;
  update approvals set state = case when expires_at <= clock_timestamp() then 'expired' else 'cancelled' end
  where session_id = of_session and state = 'pending';
  delete from waits w using prompts p where p.id = w.prompt_id and p.session_id = of_session and p.state = 'running';
  update prompts set state = prompt_state, ended_at = clock_timestamp() where session_id = of_session and state = 'running';
  due := session_due(of_session);
  is_released := due is null or due > clock_timestamp();
  if due is not null then
    update sessions s
    set due_at = due,
        lease_owner = case when not is_released then log.lease_owner end,
        lease_until = case when not is_released then log.lease_until end,
        sandbox_status = case when is_released then s.sandbox_status else log.sandbox_status end
    where s.id = of_session;
  end if;
end $$;
