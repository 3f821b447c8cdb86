-- Trace context of the request that sent a prompt; null without one. Source: W3C Trace Context.
alter table prompts add column traceparent text, add column tracestate text;

-- Queues a prompt as `accept_prompt` does, with the trace context of its request.
create function accept_traced_prompt(
  of_session text, new_id text, new_parts json, new_model text, new_system text, new_mode text, new_message_id text,
  by_principal text, by_key text, most_waiting integer, ids text[], types text[], payloads text[], size bigint,
  taker text, for_time interval, new_run text, begun_id text, new_traceparent text, new_tracestate text
) returns table (
  outcome text, prompt_id text, seq bigint, created_at timestamptz, owner_id text, fence bigint, taken json
) language plpgsql as $$
begin
  return query
    select * from accept_prompt(
      of_session, new_id, new_parts, new_model, new_system, new_mode, new_message_id, by_principal, by_key, most_waiting,
      ids, types, payloads, size, taker, for_time, new_run, begun_id
    );
  update prompts set traceparent = new_traceparent, tracestate = new_tracestate where id = new_id;
end $$;
