/** A statement that finds rows which break an invariant; none means that it holds. */
export interface Invariant {
  readonly id: string
  readonly claim: string
  readonly sql: string
}

/** A run that waits for a person emits an event, and another one when it resumes. */
const asks = `(e.type = 'session.status_idle' and e.payload->'stop_reason'->>'type' = 'requires_action')`

/** Types after which a run is over; a `session.error` with status "retrying" does not count. */
const endsRun = `((e.type = 'session.status_idle' and not ${asks}) or
  (e.type = 'session.error' and coalesce(e.payload->'error'->'retry_status'->>'type', '') <> 'retrying'))`

/** What the database alone shows, once it is quiet. */
export const invariants: readonly Invariant[] = [
  {
    id: 'I1',
    claim: 'every prompt has ended',
    sql: `select id, session_id, state from prompts where state in ('waiting', 'running')`,
  },
  {
    id: 'I1',
    claim: 'a prompt that ran has exactly one end in the log, and it fits its state',
    sql: `
      select p.id, p.session_id, p.state, count(e.seq) as ends, min(e.type) as type
      from prompts p join sessions s on s.id = p.session_id
      left join session_events e on e.session_id = p.session_id and e.payload->>'prompt_id' = p.id and ${endsRun}
      where s.deleted_at is null and p.started_at is not null
      group by p.id
      having count(e.seq) <> 1 or (p.state = 'error') <> (min(e.type) = 'session.error')`,
  },
  {
    id: 'I1',
    claim: 'no prompt fails, but those that were interrupted more often than they are resumed',
    sql: `
      select e.session_id, e.seq, e.payload from session_events e
      where e.type = 'session.error' and ${endsRun}
        and e.payload->'error'->>'message' not like 'prompt was interrupted 4 times%'`,
  },
  {
    id: 'I2',
    claim: 'a prompt is announced once, and begun at most once and once more after each question',
    sql: `
      select p.id, p.session_id, count(*) filter (where e.type in ('user.message', 'user.compact')) as announced,
             count(*) filter (where e.type = 'session.status_running') as begun,
             count(*) filter (where ${asks}) as asked
      from prompts p left join session_events e on e.session_id = p.session_id and e.payload->>'prompt_id' = p.id
      group by p.id
      having count(*) filter (where e.type in ('user.message', 'user.compact')) <> 1
          or count(*) filter (where e.type = 'session.status_running') > 1 + count(*) filter (where ${asks})`,
  },
  {
    id: 'I2',
    claim: 'along a log the fence never falls',
    sql: `
      select * from (
        select session_id, seq, fence, lag(fence) over (partition by session_id order by seq) as before
        from session_events) of_log
      where fence < before`,
  },
  {
    id: 'I3',
    claim: 'a log is numbered 1 to n',
    sql: `
      select s.id, s.next_seq, count(e.seq) as events, min(e.seq) as first, max(e.seq) as last
      from sessions s left join session_events e on e.session_id = s.id
      group by s.id
      having count(e.seq) <> s.next_seq - 1 or (count(e.seq) > 0 and (min(e.seq) <> 1 or max(e.seq) <> s.next_seq - 1))`,
  },
  {
    id: 'I3',
    claim: 'no event is stored twice',
    sql: 'select session_id, id, array_agg(seq) as at from session_events group by 1, 2 having count(*) > 1',
  },
  {
    id: 'I4',
    claim: 'a session without work has no lease',
    sql: 'select id, lease_owner, lease_until from sessions where lease_until > clock_timestamp()',
  },
  {
    id: 'I4',
    claim: 'no sandbox is shown as running in a session that does not run',
    sql: `
      select id, sandbox_status from sessions
      where sandbox_status = 'running' and coalesce(lease_until < clock_timestamp(), true)`,
  },
  {
    id: 'I6',
    claim: 'every tool call has exactly one result',
    sql: `
      select u.session_id, u.seq, u.payload->>'tool_use_id' as tool_use_id, count(r.seq) as results
      from session_events u join sessions s on s.id = u.session_id and s.deleted_at is null
      left join session_events r on r.session_id = u.session_id and r.type in ('agent.tool_result', 'user.custom_tool_result')
        and r.payload->>'tool_use_id' = u.payload->>'tool_use_id' and r.seq > u.seq
      where u.type in ('agent.tool_use', 'agent.custom_tool_use') group by u.session_id, u.seq, 3 having count(r.seq) <> 1`,
  },
  {
    id: 'I6',
    claim: 'every model request has an end',
    sql: `
      select b.session_id, b.seq, b.id from session_events b join sessions s on s.id = b.session_id and s.deleted_at is null
      where b.type = 'span.model_request_start' and not exists (
        select from session_events e where e.session_id = b.session_id and e.type = 'span.model_request_end'
          and e.payload->>'model_request_start_id' = b.id)`,
  },
  {
    id: 'I5',
    claim: 'no reservation is open past its expiry',
    sql: `select request_id, expires_at from reservations where expires_at < clock_timestamp() - interval '10 seconds'`,
  },
  {
    id: 'I5',
    claim: 'a budget holds what its reservations hold, and is not overspent',
    sql: `
      select b.scope, b.scope_id, b.max_usd, b.spent_usd, b.reserved_usd, b.parallel, sum(r.amount_usd) as held, count(r) as calls
      from budgets b left join (
        select h.id, r.amount_usd from reservations r cross join lateral json_to_recordset(r.held_in) as h (id bigint)
      ) r using (id)
      group by b.scope, b.scope_id
      having b.reserved_usd <> coalesce(sum(r.amount_usd), 0) or b.parallel <> count(r.id)
        or b.spent_usd + b.reserved_usd > b.max_usd or b.spent_usd < 0`,
  },
  {
    id: 'I5',
    claim: 'what a budget for life has spent is what the ledger states',
    sql: `
      select b.scope, b.scope_id, b.spent_usd, l.usd from budgets b cross join lateral (
        select coalesce(sum(u.cost_usd), 0) as usd from usage u
        where u.created_at >= b.created_at and (b.scope_id = case b.scope
          when 'key' then u.key_id when 'owner' then u.owner_id when 'agent' then u.agent_id else u.session_id end
          or b.scope = 'session' and exists (
            select from sessions s where s.id = u.session_id and s.ancestors @> array[b.scope_id]))
      ) l
      where b.duration is null and b.spent_usd <> l.usd`,
  },
  {
    id: 'I7',
    claim: 'one session for each idempotency key',
    sql: `select title, array_agg(id) as sessions from sessions group by title having count(*) > 1`,
  },
  {
    id: 'I8',
    claim: 'no transaction is idle',
    sql: `
      select pid, application_name, state, state_change from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'
        and state_change < clock_timestamp() - interval '1 second'`,
  },
]
