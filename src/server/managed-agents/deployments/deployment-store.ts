import type { Pool, PoolClient } from 'pg'
import type { ManagedSessionCreate } from '../../../contract/managed-sessions.ts'
import { assignmentsFor, parametersFor } from '../../db/column-lists.ts'
import { databaseTime } from '../../db/database-time.ts'
import type { CreatedRange } from '../../http/created-range.ts'
import type { MetadataMap } from '../../platform/metadata.ts'

/** What each session of a deployment starts with, apart from the agent. */
export type SessionStart = Pick<
  ManagedSessionCreate,
  'environment_id' | 'initial_events' | 'resources' | 'vault_ids' | 'budget'
>

/** Values of a deployment to store. */
export interface DeploymentValues {
  readonly id: string
  readonly owner_id: string
  /** Principal that last changed what runs or when. */
  readonly principal: string
  /** Key of that principal, under which it runs; null: the key of the agent is used. */
  readonly key_id: string | null
  readonly name: string
  readonly description: string | null
  readonly agent_id: string
  readonly agent_version: number
  readonly start: SessionStart
  readonly metadata: MetadataMap
  /** Null: without a schedule. */
  readonly cron: string | null
  readonly timezone: string | null
  readonly next_due_at: Date | null
  readonly paused_at: Date | null
  readonly archived_at: Date | null
}

export interface DeploymentRow extends DeploymentValues {
  readonly last_run_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

interface ListOf extends CreatedRange {
  readonly owner: string | undefined
  readonly agentId: string | undefined
  readonly status: 'active' | 'paused' | undefined
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

const names = [
  'id',
  'owner_id',
  'principal',
  'key_id',
  'name',
  'description',
  'agent_id',
  'agent_version',
  'start',
  'metadata',
  'cron',
  'timezone',
  'next_due_at',
  'paused_at',
  'archived_at',
] as const satisfies readonly (keyof DeploymentValues)[]
const columns = `${names.join(', ')}, last_run_at, created_at, updated_at`
const isOfOwner = 'id = $1 and ($2::text is null or owner_id = $2)'

const valuesOf = (row: DeploymentValues): unknown[] =>
  names.map(name => (name === 'start' || name === 'metadata' ? JSON.stringify(row[name]) : row[name]))

/** Table `managed_deployments`. */
export type DeploymentStore = ReturnType<typeof deploymentStore>

export function deploymentStore(pool: Pool) {
  async function changed(on: PoolClient, text: string, row: DeploymentValues): Promise<DeploymentRow> {
    const { rows } = await on.query<DeploymentRow>(`${text} returning ${columns}`, valuesOf(row))
    if (!rows[0]) throw new Error(`deployment ${row.id} is missing although its row is locked (bug)`)
    return rows[0]
  }

  return {
    /** Returns the time of the database, which all replicas share. */
    now: (on: PoolClient): Promise<Date> => databaseTime(on),

    /** Returns the deployment; undefined when `owner` has none with that id. An undefined owner matches all. */
    async find(id: string, owner: string | undefined): Promise<DeploymentRow | undefined> {
      const text = `select ${columns} from managed_deployments where ${isOfOwner}`
      return (await pool.query<DeploymentRow>(text, [id, owner])).rows[0]
    },

    /** Like `find`, and locks the row until the end of the transaction. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<DeploymentRow | undefined> {
      const text = `select ${columns} from managed_deployments where ${isOfOwner} for update`
      return (await on.query<DeploymentRow>(text, [id, owner])).rows[0]
    },

    /** Newest first. */
    async list(query: ListOf): Promise<DeploymentRow[]> {
      const { owner, agentId, status, withArchived, from, before, after, limit } = query
      const text = `
        select ${columns} from managed_deployments
        where ($1::text is null or owner_id = $1) and ($2::text is null or agent_id = $2)
          and ($3::text is null or ($3 = 'paused') = (paused_at is not null and archived_at is null))
          and ($4 or archived_at is null)
          and ($5::timestamptz is null or created_at >= $5) and ($6::timestamptz is null or created_at < $6)
          and ($7::text is null or id < $7)
        order by id desc limit $8`
      const values = [owner, agentId, status, withArchived, from, before, after, limit]
      return (await pool.query<DeploymentRow>(text, values)).rows
    },

    insert: (on: PoolClient, row: DeploymentValues): Promise<DeploymentRow> =>
      changed(on, `insert into managed_deployments (${names.join(', ')}) values (${parametersFor(names)})`, row),

    update: (on: PoolClient, row: DeploymentValues): Promise<DeploymentRow> =>
      changed(
        on,
        `update managed_deployments
         set ${assignmentsFor(names)}, updated_at = clock_timestamp() where id = $1`,
        row,
      ),

    /** Returns and locks a due deployment; skips those that another replica has locked. */
    async lockDue(on: PoolClient, now: Date): Promise<DeploymentRow | undefined> {
      const text = `
        select ${columns} from managed_deployments where next_due_at <= $1 order by next_due_at limit 1
        for update skip locked`
      return (await on.query<DeploymentRow>(text, [now])).rows[0]
    },

    /** Stores that a run was due at `ranAt`, and when the next one is. */
    async setNextDue(on: PoolClient, id: string, next: Date | null, ranAt: Date): Promise<void> {
      const text = 'update managed_deployments set next_due_at = $2, last_run_at = $3 where id = $1'
      await on.query(text, [id, next, ranAt])
    },
  }
}
