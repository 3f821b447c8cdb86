import type { ClientBase } from 'pg'
import { databaseTime } from '../db/database-time.ts'

/** A schedule with ticks between the backup and the restore. */
export interface DueSchedule {
  readonly id: string
  readonly cron: string
  readonly timezone: string
  readonly next_due_at: Date
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

    /** Returns the time of the database, and the schedules that were due until then. */
    async dueSchedules(): Promise<{ readonly now: Date; readonly schedules: DueSchedule[] }> {
      const now = await databaseTime(client)
      const text = 'select id, cron, timezone, next_due_at from schedules where next_due_at <= $1 order by id'
      const { rows } = await client.query<DueSchedule>(text, [now])
      return { now, schedules: rows }
    },

    /** Moves a schedule to its next tick, and records the skipped one. */
    async skipTicks(schedule: DueSchedule, { runId, next, reason }: SkippedTicks): Promise<void> {
      await client.query('update schedules set next_due_at = $2 where id = $1', [schedule.id, next])
      const text = `
        insert into schedule_runs (schedule_id, due_at, id, cause, state, reason, is_open)
        values ($1, $2, $3, 'missed', 'skipped', $4, false) on conflict (schedule_id, due_at) do nothing`
      await client.query(text, [schedule.id, schedule.next_due_at, runId, reason])
    },

    async analyze(): Promise<void> {
      await client.query('analyze')
    },
  }
}

interface SkippedTicks {
  readonly runId: string
  /** Undefined when the schedule is never due again. */
  readonly next: Date | undefined
  readonly reason: string
}
