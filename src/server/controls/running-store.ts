import type { Pool } from 'pg'
import type { RunningSession, SpendingKey } from '../../contract/controls.ts'

/** Running work that a caller may see. */
export interface RunningReach {
  /** Only work of this owner; undefined: of all. */
  readonly owner: string | undefined
  /** The only key whose spending is shown; undefined: those of the owner, or all. */
  readonly key: string | undefined
}

/** Selects sessions to stop; each field narrows the selection. */
export interface StopFilter {
  readonly owner: string | undefined
  readonly session: string | undefined
  readonly agent: string | undefined
  /** Only sessions with prompts of these keys; undefined: of any key. */
  readonly keys: readonly string[] | undefined
}

interface Totals {
  readonly running_sessions: number
  readonly calls_per_minute: number
  readonly cost_per_minute: number | null
}

/** Position of a row in the list, for cursors. */
export const placeOf = ({ session_id }: Pick<RunningSession, 'session_id'>): string => session_id

const recent = `created_at > clock_timestamp() - interval '60 seconds'`
const spending = 'count(*)::int as calls_per_minute, sum(cost_usd)::double precision as cost_per_minute'

/** One row per session, because prompts that joined a turn run together with it. */
const sessionsText = `
  with running as (
    select distinct on (p.session_id) p.session_id, s.title, s.agent_id, s.owner_id, p.key_id, s.runtime, p.id as prompt_id, p.run_id,
           p.started_at, (select kind from waits where prompt_id = p.id order by kind limit 1) as held_by
    from prompts p join sessions s on s.id = p.session_id
    where p.state = 'running' and s.deleted_at is null and ($1::text is null or s.owner_id = $1)
      and ($2::text is null or p.session_id < $2)
    order by p.session_id desc, p.position limit $3
  )
  select running.*, coalesce(calls_per_minute, 0) as calls_per_minute, cost_per_minute,
         (select count(*)::int from prompts where session_id = running.session_id and state = 'waiting') as waiting_prompts
  from running left join lateral (
    select ${spending} from usage where session_id = running.session_id and ${recent}
  ) used on true
  order by running.session_id desc`

const totalsText = `
  select (select count(distinct p.session_id)::int from prompts p join sessions s on s.id = p.session_id
          where p.state = 'running' and s.deleted_at is null and ($1::text is null or s.owner_id = $1)) as running_sessions,
         used.* from (select ${spending} from usage where ${recent} and ($1::text is null or owner_id = $1)) used`

const keysText = `
  select key_id, min(owner_id) as owner_id, ${spending} from usage
  where ${recent} and ($1::text is null or owner_id = $1) and ($2::text is null or key_id = $2)
  group by key_id order by sum(cost_usd) desc nulls last, count(*) desc limit 100`

type SessionFacts = Omit<RunningSession, 'started_at'> & { readonly started_at: Date | null }

/** Running sessions and their cost, from tables `prompts` and `usage`. */
export type RunningStore = ReturnType<typeof runningStore>

export function runningStore(pool: Pool) {
  return {
    async sessions(
      { owner }: RunningReach,
      { after, limit }: { after: string | undefined; limit: number },
    ): Promise<RunningSession[]> {
      const { rows } = await pool.query<SessionFacts>(sessionsText, [owner, after, limit])
      return rows.map(row => ({ ...row, started_at: row.started_at?.toISOString() ?? null }))
    },

    async totals({ owner }: RunningReach): Promise<Totals> {
      const { rows } = await pool.query<Totals>(totalsText, [owner])
      return rows[0] ?? { running_sessions: 0, calls_per_minute: 0, cost_per_minute: null }
    },

    async keys({ owner, key }: RunningReach): Promise<SpendingKey[]> {
      return (await pool.query<SpendingKey>(keysText, [owner, key])).rows
    },

    /** Returns up to 200 ids of sessions with open prompts, in order, after `after`. */
    async toStop({ owner, session, agent, keys }: StopFilter, after: string): Promise<string[]> {
      const text = `
        select distinct p.session_id as id from prompts p join sessions s on s.id = p.session_id
        where p.state in ('waiting', 'running') and s.deleted_at is null and p.session_id > $1
          and ($2::text is null or s.owner_id = $2) and ($3::text is null or s.id = $3) and ($4::text is null or s.agent_id = $4)
          and ($5::text[] is null or p.key_id = any ($5))
        order by id limit 200`
      const { rows } = await pool.query<{ id: string }>(text, [after, owner, session, agent, keys])
      return rows.map(({ id }) => id)
    },

    /** Returns the ids of the key and its descendants. */
    async lineOf(keyId: string): Promise<string[]> {
      const text = 'select id from api_keys where id = $1 or ancestors @> array[$1]'
      return (await pool.query<{ id: string }>(text, [keyId])).rows.map(({ id }) => id)
    },

    /** True when the agent exists, or has sessions of `owner`. */
    async hasAgent(id: string, owner: string | undefined): Promise<boolean> {
      const text = `
        select from agents where id = $1 and ($2::text is null or owner_id = $2)
        union all select from sessions where agent_id = $1 and ($2::text is null or owner_id = $2) limit 1`
      return (await pool.query(text, [id, owner])).rowCount === 1
    },
  }
}
