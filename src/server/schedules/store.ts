import type { Pool, PoolClient } from 'pg'
import type { Schedule, ScheduleRun } from '../../contract/schedules.ts'
import { assignmentsFor, parametersFor } from '../db/column-lists.ts'
import { databaseTime } from '../db/database-time.ts'

/** Row of a schedule. */
export interface ScheduleRow extends Omit<Schedule, 'next_run_at' | 'run_as_key_id' | 'created_at' | 'updated_at'> {
  /** Principal that last changed what runs or when. */
  readonly principal: string
  /** Key of that principal, under which the schedule runs; null: the key of the agent is used. */
  readonly key_id: string | null
  /** Null while the schedule is paused or when it is never due again. */
  readonly next_due_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** Values of a schedule to store; the database sets the times. */
export type ScheduleValues = Omit<ScheduleRow, 'created_at' | 'updated_at'>

/** A run to create for a tick. */
export interface NewRun {
  readonly id: string
  readonly schedule_id: string
  readonly due_at: Date
  readonly cause: ScheduleRun['cause']
}

/** State of a run as stored; the prompt has the rest. */
export interface RunState {
  readonly state: 'queued' | 'started' | 'skipped' | 'failed'
  readonly reason?: string
  readonly session_id?: string
  readonly prompt_id?: string
}

interface RunRow extends Omit<ScheduleRun, 'due_at' | 'created_at' | 'ended_at'> {
  readonly due_at: Date
  readonly created_at: Date
  readonly ended_at: Date | null
}

type Queryable = Pool | PoolClient

interface RunsOf {
  /** Milliseconds since 1970. */
  readonly before: string | undefined
  readonly limit: number
  readonly state: ScheduleRun['state'] | undefined
}

interface ListOf {
  readonly owner: string | undefined
  readonly agentId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

const names = [
  'id',
  'owner_id',
  'principal',
  'key_id',
  'name',
  'agent_id',
  'cron',
  'timezone',
  'prompt',
  'session',
  'session_id',
  'overlap',
  'missed',
  'missed_limit',
  'status',
  'next_due_at',
] as const satisfies readonly (keyof ScheduleValues)[]
const columns = `${names.join(', ')}, created_at, updated_at`
const valuesOf = (row: ScheduleValues) => names.map(name => row[name])

const insertText = `
  insert into schedules (${names.join(', ')}) values (${parametersFor(names)})
  returning ${columns}`
const updateText = `
  update schedules set ${assignmentsFor(names)}, updated_at = clock_timestamp()
  where id = $1 returning ${columns}`

const runState = `case when r.state = 'started' then p.state else r.state end`
const runColumns = `
  r.id, r.schedule_id, r.due_at, r.cause, ${runState} as state, r.reason,
  r.session_id, r.prompt_id, r.created_at, p.ended_at`

const closeText = `
  update schedule_runs r set is_open = false from prompts p
  where r.schedule_id = $1 and r.is_open and p.id = r.prompt_id and p.state not in ('waiting', 'running')`

/** A schedule with a queued run and without a run in flight. */
const queuedText = `
  select ${columns} from schedules s
  where status = 'active'
    and exists (select from schedule_runs r where r.schedule_id = s.id and r.is_open and r.state = 'queued')
    and not exists (
      select from schedule_runs r join prompts p on p.id = r.prompt_id
      where r.schedule_id = s.id and r.is_open and p.state in ('waiting', 'running'))
  order by id limit 1 for update of s skip locked`

/** Polled once a second: one prepared statement, so that an idle service causes little load. */
const openWorkText = `
  select
    exists (select from schedules where next_due_at <= coalesce($1, clock_timestamp())) as is_due,
    exists (
      select from schedules s join schedule_runs r on r.schedule_id = s.id
      where s.status = 'active' and r.is_open and r.state = 'queued') as is_queued`

/** Tables `schedules` and `schedule_runs`: one row per schedule and one row per tick. */
export type ScheduleStore = ReturnType<typeof scheduleStore>

export function scheduleStore(pool: Pool) {
  return {
    /** Returns the time of the database, which all replicas share. */
    now: (on: Queryable = pool): Promise<Date> => databaseTime(on),

    /** Returns the schedule; undefined when `owner` has none with that id. Owner undefined: of any owner. */
    async find(id: string, owner: string | undefined): Promise<ScheduleRow | undefined> {
      const text = `select ${columns} from schedules where id = $1 and ($2::text is null or owner_id = $2)`
      return (await pool.query<ScheduleRow>(text, [id, owner])).rows[0]
    },

    /** Like `find`, and locks the row until the transaction ends. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<ScheduleRow | undefined> {
      const text = `select ${columns} from schedules where id = $1 and ($2::text is null or owner_id = $2) for update`
      return (await on.query<ScheduleRow>(text, [id, owner])).rows[0]
    },

    /** Returns schedules, newest first. */
    async list({ owner, agentId, after, limit }: ListOf): Promise<ScheduleRow[]> {
      const text = `
        select ${columns} from schedules
        where ($1::text is null or owner_id = $1) and ($2::text is null or agent_id = $2) and ($3::text is null or id < $3)
        order by id desc limit $4`
      return (await pool.query<ScheduleRow>(text, [owner, agentId, after, limit])).rows
    },

    async insert(on: PoolClient, values: ScheduleValues): Promise<ScheduleRow> {
      return stored((await on.query<ScheduleRow>(insertText, valuesOf(values))).rows)
    },

    async update(on: PoolClient, values: ScheduleValues): Promise<ScheduleRow> {
      return stored((await on.query<ScheduleRow>(updateText, valuesOf(values))).rows)
    },

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from schedules where id = $1', [id])
    },

    /**
     * Reports whether schedules are due or queued at `now` (default: the database's clock). Other replicas may handle
     * them.
     */
    async openWork(now: Date | undefined): Promise<{ readonly is_due: boolean; readonly is_queued: boolean }> {
      const query = { name: 'schedule_work', text: openWorkText, values: [now] }
      const { rows } = await pool.query<{ is_due: boolean; is_queued: boolean }>(query)
      return rows[0] ?? { is_due: false, is_queued: false }
    },

    /** Returns and locks a due schedule; skips schedules that another replica has locked. */
    async lockDue(on: PoolClient, now: Date): Promise<ScheduleRow | undefined> {
      const text = `
        select ${columns} from schedules where next_due_at <= $1 order by next_due_at limit 1 for update skip locked`
      return (await on.query<ScheduleRow>(text, [now])).rows[0]
    },

    /** Returns and locks a schedule whose first queued run can start. */
    async lockQueued(on: PoolClient): Promise<ScheduleRow | undefined> {
      return (await on.query<ScheduleRow>(queuedText)).rows[0]
    },

    async setNextDue(on: PoolClient, id: string, next: Date | null): Promise<void> {
      await on.query('update schedules set next_due_at = $2 where id = $1', [id, next])
    },

    async setSession(on: PoolClient, id: string, sessionId: string): Promise<void> {
      await on.query('update schedules set session_id = $2 where id = $1', [id, sessionId])
    },

    /** Returns false when this tick was claimed before. The caller settles it in the same transaction. */
    async claimRun(on: PoolClient, { id, schedule_id, due_at, cause }: NewRun): Promise<boolean> {
      const text = `
        insert into schedule_runs (schedule_id, due_at, id, cause, state, is_open) values ($1, $2, $3, $4, 'failed', false)
        on conflict (schedule_id, due_at) do nothing`
      const { rowCount } = await on.query(text, [schedule_id, due_at, id, cause])
      return rowCount === 1
    },

    async settleRun(on: PoolClient, id: string, { state, reason, session_id, prompt_id }: RunState): Promise<void> {
      const text = `
        update schedule_runs set state = $2, reason = $3, session_id = $4, prompt_id = $5, is_open = $2 in ('queued', 'started')
        where id = $1`
      await on.query(text, [id, state, reason, session_id, prompt_id])
    },

    /** Returns the number of runs of the schedule that are in flight, and that are queued. */
    async openRuns(on: PoolClient, scheduleId: string): Promise<{ readonly running: number; readonly queued: number }> {
      await on.query(closeText, [scheduleId])
      const text = `
        select count(*) filter (where state = 'started') as running, count(*) filter (where state = 'queued') as queued
        from schedule_runs where schedule_id = $1 and is_open`
      const { rows } = await on.query<{ running: number; queued: number }>(text, [scheduleId])
      return rows[0] ?? { running: 0, queued: 0 }
    },

    /** Returns the id of the oldest queued run. */
    async firstQueued(on: PoolClient, scheduleId: string): Promise<string | undefined> {
      const text = `
        select id from schedule_runs where schedule_id = $1 and is_open and state = 'queued' order by due_at limit 1`
      return (await on.query<{ id: string }>(text, [scheduleId])).rows[0]?.id
    },

    async run(on: Queryable, id: string): Promise<ScheduleRun> {
      const text = `select ${runColumns} from schedule_runs r left join prompts p on p.id = r.prompt_id where r.id = $1`
      return toRun(stored((await on.query<RunRow>(text, [id])).rows))
    },

    /** Returns runs, newest first. */
    async runs(scheduleId: string, { before, limit, state }: RunsOf): Promise<ScheduleRun[]> {
      const text = `
        select ${runColumns} from schedule_runs r left join prompts p on p.id = r.prompt_id
        where r.schedule_id = $1
          and ($2::float8 is null or r.due_at < timestamptz 'epoch' + $2::float8 * interval '1 millisecond')
          and ($4::text is null or ${runState} = $4)
        order by r.due_at desc limit $3`
      return (await pool.query<RunRow>(text, [scheduleId, before, limit, state])).rows.map(toRun)
    },

    /** Returns the newest run of each schedule that has one. */
    async lastRuns(scheduleIds: readonly string[]): Promise<ScheduleRun[]> {
      const text = `
        select ${runColumns} from unnest($1::text[]) as s(id)
          cross join lateral (select * from schedule_runs where schedule_id = s.id order by due_at desc limit 1) r
          left join prompts p on p.id = r.prompt_id`
      return (await pool.query<RunRow>(text, [scheduleIds])).rows.map(toRun)
    },

    /** Deletes up to 100 runs older than 90 days, oldest first. */
    async deleteOldRuns(on: PoolClient, scheduleId: string, now: Date): Promise<void> {
      const text = `
        delete from schedule_runs where schedule_id = $1 and due_at in (
          select due_at from schedule_runs
          where schedule_id = $1 and not is_open and due_at < $2::timestamptz - interval '90 days' order by due_at limit 100)`
      await on.query(text, [scheduleId, now])
    },

    /** Runs `work` in a savepoint: when it throws, its writes roll back and the transaction can continue. */
    async attempt<T>(on: PoolClient, work: () => Promise<T>): Promise<T> {
      await on.query('savepoint attempt')
      try {
        const result = await work()
        await on.query('release savepoint attempt')
        return result
      } catch (error) {
        await on.query('rollback to savepoint attempt')
        throw error
      }
    },
  }
}

function stored<T>([row]: T[]): T {
  if (!row) throw new Error('statement returned no row')
  return row
}

const toRun = ({ due_at, created_at, ended_at, ...run }: RunRow): ScheduleRun => ({
  ...run,
  due_at: due_at.toISOString(),
  created_at: created_at.toISOString(),
  ended_at: ended_at?.toISOString() ?? null,
})

/** Returns the public record of a schedule. */
export const toSchedule = (row: ScheduleRow): Schedule => ({
  id: row.id,
  name: row.name,
  owner_id: row.owner_id,
  agent_id: row.agent_id,
  cron: row.cron,
  timezone: row.timezone,
  prompt: row.prompt,
  session: row.session,
  session_id: row.session_id,
  overlap: row.overlap,
  missed: row.missed,
  missed_limit: row.missed_limit,
  status: row.status,
  next_run_at: row.next_due_at?.toISOString() ?? null,
  run_as_key_id: row.key_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
