import type { Pool, PoolClient } from 'pg'
import type { DeploymentRun } from '../../../contract/managed-deployments.ts'
import type { CreatedRange } from '../../http/created-range.ts'
import type { DeploymentRow } from './deployment-store.ts'

/** A session that a deployment started, or why it did not; both null: it is about to start. */
export interface RunResult {
  readonly session_id: string | null
  readonly error: DeploymentRun['error']
}

export interface RunRow extends RunResult {
  readonly id: string
  readonly deployment_id: string
  readonly owner_id: string
  readonly agent_id: string
  readonly agent_version: number
  /** Null for a run on request. */
  readonly scheduled_at: Date | null
  readonly created_at: Date
}

interface ListOf extends CreatedRange {
  readonly owner: string | undefined
  readonly deploymentId: string | undefined
  readonly hasError: boolean | undefined
  readonly trigger: 'schedule' | 'manual' | undefined
  readonly after: string | undefined
  readonly limit: number
}

interface NewRun extends RunResult {
  readonly id: string
  readonly scheduledAt: Date | null
}

export const unstarted: RunResult = { session_id: null, error: null }

const columns = 'id, deployment_id, owner_id, agent_id, agent_version, scheduled_at, session_id, error, created_at'
const isOpen = 'session_id is null and error is null and (claimed_until is null or claimed_until < clock_timestamp())'
const isStarted = '(session_id is not null or error is not null)'

const insertText = `
  insert into deployment_runs
    (id, deployment_id, owner_id, agent_id, agent_version, scheduled_at, session_id, error)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`

function valuesOf(of: DeploymentRow, { id, scheduledAt, session_id, error }: NewRun): unknown[] {
  const { id: deploymentId, owner_id, agent_id, agent_version } = of
  return [id, deploymentId, owner_id, agent_id, agent_version, scheduledAt, session_id, error && JSON.stringify(error)]
}

/** Polled once a second: one prepared statement, so that an idle service causes little load. */
const openWorkText = `
  select exists (select from managed_deployments where next_due_at <= clock_timestamp()) as is_due,
         exists (select from deployment_runs where ${isOpen}) as is_open`

/** A claim that its process does not settle in time is over. */
const claimText = `
  update deployment_runs set claimed_until = clock_timestamp() + interval '2 minutes'
  where id = (select id from deployment_runs where ${isOpen} order by id limit 1 for update skip locked)
  returning ${columns}`

/** Table `deployment_runs`: one row per run. */
export type DeploymentRunStore = ReturnType<typeof deploymentRunStore>

export function deploymentRunStore(pool: Pool) {
  return {
    /** Reports whether deployments are due and whether runs are about to start. Other replicas may handle them. */
    async openWork(): Promise<{ readonly is_due: boolean; readonly is_open: boolean }> {
      const query = { name: 'deployment_work', text: openWorkText }
      const { rows } = await pool.query<{ is_due: boolean; is_open: boolean }>(query)
      return rows[0] ?? { is_due: false, is_open: false }
    },

    /** Adds a run; returns undefined for a time that has one already. */
    async insert(on: Pick<Pool, 'query'>, of: DeploymentRow, run: NewRun): Promise<RunRow | undefined> {
      const text = `${insertText} on conflict (deployment_id, scheduled_at) do nothing returning ${columns}`
      return (await on.query<RunRow>(text, valuesOf(of, run))).rows[0]
    },

    /** Adds a run on request, or returns the one with that id. */
    async insertManual(of: DeploymentRow, run: Omit<NewRun, 'scheduledAt'>): Promise<RunRow> {
      const text = `${insertText} on conflict (id) do update set id = excluded.id returning ${columns}`
      const [row] = (await pool.query<RunRow>(text, valuesOf(of, { ...run, scheduledAt: null }))).rows
      if (!row) throw new Error(`run ${run.id} was not returned (bug)`)
      return row
    },

    /** Claims the oldest run that is about to start, for this process; returns undefined when there is none. */
    async claim(): Promise<RunRow | undefined> {
      return (await pool.query<RunRow>(claimText)).rows[0]
    },

    /** Gives a claimed run back. */
    async release(id: string): Promise<void> {
      await pool.query('update deployment_runs set claimed_until = null where id = $1', [id])
    },

    async settle(id: string, { session_id, error }: RunResult): Promise<void> {
      const text = 'update deployment_runs set session_id = $2, error = $3 where id = $1'
      await pool.query(text, [id, session_id, error && JSON.stringify(error)])
    },

    async find(id: string, owner: string | undefined): Promise<RunRow | undefined> {
      const text = `
        select ${columns} from deployment_runs
        where id = $1 and ($2::text is null or owner_id = $2) and ${isStarted}`
      return (await pool.query<RunRow>(text, [id, owner])).rows[0]
    },

    /** Newest first. */
    async list(query: ListOf): Promise<RunRow[]> {
      const { owner, deploymentId, hasError, trigger, from, before, after, limit } = query
      const text = `
        select ${columns} from deployment_runs
        where ${isStarted} and ($1::text is null or owner_id = $1) and ($2::text is null or deployment_id = $2)
          and ($3::boolean is null or $3 = (error is not null))
          and ($4::text is null or ($4 = 'manual') = (scheduled_at is null))
          and ($5::timestamptz is null or created_at >= $5) and ($6::timestamptz is null or created_at < $6)
          and ($7::text is null or id < $7)
        order by id desc limit $8`
      const values = [owner, deploymentId, hasError, trigger, from, before, after, limit]
      return (await pool.query<RunRow>(text, values)).rows
    },

    /** Deletes up to 100 runs older than 90 days. */
    async deleteOld(on: PoolClient, deploymentId: string): Promise<void> {
      const text = `
        delete from deployment_runs where id in (
          select id from deployment_runs
          where deployment_id = $1 and created_at < clock_timestamp() - interval '90 days' limit 100)`
      await on.query(text, [deploymentId])
    },
  }
}
