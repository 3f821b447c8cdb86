import type { Pool } from 'pg'
import type { FailedSession, Overview } from '../../contract/console.ts'

/** Restricts the figures to one owner; undefined: all. */
type Owner = string | undefined

type Spend = Overview['spend']

const spendText = `
  with today as (select date_trunc('day', clock_timestamp(), $2) as since)
  select today.since, sum(cost_usd)::text as cost_usd, count(usage.*)::int as requests,
         count(*) filter (where usage.request_id is not null and cost_usd is null)::int as unpriced_requests
  from today left join usage on created_at >= today.since and ($1::text is null or owner_id = $1)
  group by today.since`

/** Bounds the read of the log to its last events: a failed run ends with its error. */
const failedText = `
  select s.id as session_id, s.title, s.agent_id, coalesce(failed.created_at, s.updated_at) as failed_at,
         failed.payload -> 'error' ->> 'type' as error_type, failed.payload -> 'error' ->> 'message' as message
  from sessions s left join lateral (
    select payload, created_at from session_events
    where session_id = s.id and seq > s.next_seq - 20 and type = 'session.error' order by seq desc limit 1
  ) failed on true
  where s.last_outcome = 'failed' and s.deleted_at is null and s.updated_at > clock_timestamp() - interval '24 hours'
    and ($1::text is null or s.owner_id = $1)
  order by s.id desc limit 20`

/** Figures of the overview that no other store has. */
export type OverviewStore = ReturnType<typeof overviewStore>

export function overviewStore(pool: Pool) {
  return {
    /** Returns the calls since midnight of the time zone. */
    async spend(owner: Owner, timezone: string): Promise<Spend> {
      const { rows } = await pool.query<Omit<Spend, 'since'> & { since: Date }>(spendText, [owner, timezone])
      const [row] = rows
      if (!row) throw new Error('an aggregate without a row (bug)')
      return { ...row, since: row.since.toISOString() }
    },

    async failures(owner: Owner): Promise<FailedSession[]> {
      const { rows } = await pool.query<Omit<FailedSession, 'failed_at'> & { failed_at: Date }>(failedText, [owner])
      return rows.map(row => ({ ...row, failed_at: row.failed_at.toISOString() }))
    },
  }
}
