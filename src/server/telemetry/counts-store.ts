import type { Pool } from 'pg'

/** Work in the database, for metrics. */
export interface Counts {
  readonly running: number
  readonly pending: number
  readonly failed: number
  readonly leases: number
  readonly sandboxes: number
  readonly waiting: number
  /** Age of the oldest waiting prompt in seconds; 0 without one. */
  readonly oldest_s: number
  readonly approvals: number
  readonly webhooks: number
  readonly endpoint_cursors: number
  readonly replies: number
  readonly background_queued: number
  readonly background_running: number
  /** How long the most overdue schedule is late in seconds; 0 without one. */
  readonly overdue_s: number
}

/** Each count reads a partial index of open work, so that its cost does not grow with finished work. */
const countsText = `
  with leased as materialized (
    select id, sandbox_status from sessions
    where lease_owner is not null and lease_until > clock_timestamp() and deleted_at is null
  ), open as materialized (
    select session_id, state, created_at from prompts where state in ('waiting', 'running')
  )
  select
    (select count(*) from leased)::int as leases,
    (select count(*) from leased where sandbox_status = 'running')::int as sandboxes,
    (select count(distinct session_id) from open where state = 'running' and session_id in (select id from leased))::int
      as running,
    (select count(distinct session_id) from open
     where not exists (select from approvals a where a.session_id = open.session_id and a.state = 'pending')
       and session_id not in (select session_id from open where state = 'running' and session_id in (select id from leased)))::int
      as pending,
    (select count(*) from sessions s where last_outcome = 'failed' and deleted_at is null
       and not exists (select from open where open.session_id = s.id))::int as failed,
    (select count(*) from open where state = 'waiting')::int as waiting,
    (select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0) from open where state = 'waiting')::float8
      as oldest_s,
    (select count(*) from approvals where state = 'pending')::int as approvals,
    (select count(*) from webhook_deliveries where status = 'processing')::int as webhooks,
    (select count(*) from webhook_cursors where ready_at is not null)::int as endpoint_cursors,
    (select count(*) from webhook_replies where state = 'pending')::int as replies,
    background.*,
    (select coalesce(extract(epoch from greatest(clock_timestamp() - min(next_due_at), interval '0')), 0)
     from schedules where next_due_at is not null)::float8 as overdue_s
  from (
    select count(*) filter (where status = 'queued')::int as background_queued,
           count(*) filter (where status = 'in_progress')::int as background_running
    from background_responses where status in ('queued', 'in_progress')
  ) background`

/** Counts of open work. */
export function countsStore(pool: Pool) {
  return {
    async read(): Promise<Counts> {
      const { rows } = await pool.query<Counts>({ name: 'metrics_counts', text: countsText })
      const [row] = rows
      if (!row) throw new Error('an aggregate without a row (bug)')
      return row
    },
    /** Returns the number of sessions. It reads every row, so its result must be cached for long. */
    async sessions(): Promise<number> {
      const { rows } = await pool.query<{ sessions: number }>(
        'select count(*)::int as sessions from sessions where deleted_at is null',
      )
      return rows[0]?.sessions ?? 0
    },
  }
}
