import type { ClientBase } from 'pg'
import { databaseTime } from '../db/database-time.ts'

/** A schedule or a deployment with times between the backup and the restore. */
export interface DueTick {
  readonly kind: 'schedule' | 'deployment'
  readonly id: string
  readonly cron: string
  readonly timezone: string
  readonly next_due_at: Date
}

interface Due {
  /** Time of the database. */
  readonly now: Date
  readonly ticks: readonly DueTick[]
}

/** Work in flight that a restored database contains. */
export interface OpenWork {
  /** Runs that continue or end as after a crash. */
  readonly runs: number
  /** Prompts that wait for a run. */
  readonly waiting_prompts: number
}

// An expired lease with its owner is that of a killed process, so the next owner resumes the run.
const voidLeasesText = `
  update sessions set warm_owner = null,
    lease_until = case when lease_owner is null then null else clock_timestamp() - interval '1 second' end
  where lease_owner is not null or warm_owner is not null`

const openWorkText = `
  select count(*) filter (where state = 'running') as runs, count(*) filter (where state = 'waiting') as waiting_prompts
  from prompts`

/** Statements that set the next time, and that add the run of the skipped one. */
const skipTexts = {
  schedule: {
    move: 'update schedules set next_due_at = $2 where id = $1',
    record: `
      insert into schedule_runs (schedule_id, due_at, id, cause, state, reason, is_open)
      values ($1, $2, $3, 'missed', 'skipped', $4, false) on conflict (schedule_id, due_at) do nothing`,
  },
  deployment: {
    move: 'update managed_deployments set next_due_at = $2 where id = $1',
    record: `
      insert into deployment_runs (deployment_id, scheduled_at, id, owner_id, agent_id, agent_version, error)
      select id, $2, $3, owner_id, agent_id, agent_version, json_build_object('type', 'unknown_error', 'message', $4::text)
      from managed_deployments where id = $1
      on conflict (deployment_id, scheduled_at) do nothing`,
  },
} as const

/** Changes that turn the copy of a live database into one that a new service can use. */
export type SettleStore = ReturnType<typeof settleStore>

export function settleStore(client: ClientBase) {
  return {
    async voidLeases(): Promise<void> {
      await client.query(voidLeasesText)
    },

    async openWork(): Promise<OpenWork> {
      const { rows } = await client.query<OpenWork>(openWorkText)
      return rows[0] ?? { runs: 0, waiting_prompts: 0 }
    },

    /** Returns the schedules and the deployments that were due until now. */
    async due(): Promise<Due> {
      const now = await databaseTime(client)
      const text = `
        select 'schedule' as kind, id, cron, timezone, next_due_at from schedules where next_due_at <= $1
        union all
        select 'deployment', id, cron, timezone, next_due_at from managed_deployments where next_due_at <= $1
        order by id`
      const { rows } = await client.query<DueTick>(text, [now])
      return { now, ticks: rows }
    },

    /** Moves a schedule or a deployment to its next time, and records the skipped one. */
    async skip({ kind, id, next_due_at }: DueTick, { runId, next, reason }: SkippedTick): Promise<void> {
      const { move, record } = skipTexts[kind]
      await client.query(move, [id, next])
      await client.query(record, [id, next_due_at, runId, reason])
    },

    async analyze(): Promise<void> {
      await client.query('analyze')
    },
  }
}

interface SkippedTick {
  readonly runId: string
  /** Undefined when it is never due again. */
  readonly next: Date | undefined
  readonly reason: string
}
