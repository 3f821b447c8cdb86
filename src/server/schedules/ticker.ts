import type { Pool, PoolClient } from 'pg'
import type { AgentStore } from '../agents/store.ts'
import { transaction } from '../db/connect.ts'
import type { Caller } from '../http/caller.ts'
import type { RunAs } from '../keys/run-as.ts'
import { createDueWork, type DueWork } from '../platform/due-work.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type DueTicks, dueTicks } from './due-ticks.ts'
import { sessionBody, sessionToContinue } from './schedules.ts'
import type { RunState, ScheduleRow, ScheduleStore } from './store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ScheduleStore
  readonly sessions: Pick<Sessions, 'startWithin'>
  readonly agents: Pick<AgentStore, 'within'>
  readonly runAs: RunAs
  readonly log: Log
  /** Clock for due ticks; the database's clock by default. */
  readonly now?: (on: Pool | PoolClient) => Promise<Date>
}

const maxQueued = 100

/**
 * Polls the database once a second for due schedules, without a job queue. The row of a schedule has its due time and
 * is locked while its ticks are handled; the primary key of `schedule_runs` ensures that each tick runs once. Ticks
 * that were due while no server ran are found the same way.
 */
export function createTicker(deps: Deps): DueWork {
  const { log, pool, store, now } = deps
  return createDueWork({
    async steps() {
      const { is_due, is_queued } = await store.openWork(await now?.(pool))
      return [...(is_due ? [() => tick(deps)] : []), ...(is_queued ? [() => startQueued(deps)] : [])]
    },
    onError: cause => log.warn({ err: cause }, 'cannot read schedules; retrying in the next poll'),
  })
}

/** Runs `work` in one transaction; after the commit, calls the functions that it has added to `afterCommit`. */
async function publishing<T>(
  pool: Pool,
  work: (client: PoolClient, afterCommit: (() => void)[]) => Promise<T>,
): Promise<T> {
  const afterCommit: (() => void)[] = []
  const result = await transaction(pool, client => work(client, afterCommit))
  for (const publish of afterCommit) publish()
  return result
}

/** Handles one due schedule. Returns false when there is none. */
async function tick({ pool, store, log, ...deps }: Deps): Promise<boolean> {
  return publishing(pool, async (client, afterCommit) => {
    const now = await (deps.now ?? store.now)(client)
    const schedule = await store.lockDue(client, now)
    if (!schedule?.next_due_at) return false
    const { run, skipped, next } = ticksOf(schedule, { first: schedule.next_due_at, now, log })
    if (skipped) {
      const id = newId('srun')
      const isNew = await store.claimRun(client, {
        id,
        schedule_id: schedule.id,
        due_at: skipped.dueAt,
        cause: 'missed',
      })
      if (isNew) await store.settleRun(client, id, { state: 'skipped', reason: skipped.reason })
    }
    for (const { dueAt, cause } of run) {
      const id = newId('srun')
      if (!(await store.claimRun(client, { id, schedule_id: schedule.id, due_at: dueAt, cause }))) continue
      const waits = await stateOfOverlap(store, client, schedule)
      await store.settleRun(
        client,
        id,
        waits ?? (await startRun({ store, log, ...deps }, { client, schedule, afterCommit })),
      )
    }
    await store.setNextDue(client, schedule.id, next ?? null)
    await store.deleteOldRuns(client, schedule.id, now)
    return true
  })
}

interface Due {
  readonly first: Date
  readonly now: Date
  readonly log: Log
}

/**
 * Ticks of a schedule. When they cannot be computed, because the system no longer has its zone, other schedules must go
 * on.
 */
function ticksOf(schedule: ScheduleRow, { first, now, log }: Due): DueTicks {
  try {
    return dueTicks(schedule, first, now)
  } catch (cause) {
    log.error(
      { err: cause, schedule_id: schedule.id },
      'cannot compute the next run of a schedule; it does not run until it is corrected',
    )
    return {
      run: [],
      skipped: { dueAt: first, reason: 'cannot compute the next run; correct the cron pattern or time zone' },
      next: undefined,
    }
  }
}

/** Returns the state of a run that must not start now; undefined when it can start. */
async function stateOfOverlap(
  store: ScheduleStore,
  client: PoolClient,
  { id, overlap }: ScheduleRow,
): Promise<RunState | undefined> {
  if (overlap === 'allow') return undefined
  const { running, queued } = await store.openRuns(client, id)
  if (running + queued === 0) return undefined
  if (overlap === 'skip') return { state: 'skipped', reason: 'previous run has not ended' }
  if (queued >= maxQueued) return { state: 'skipped', reason: `${queued} runs are queued already, the maximum` }
  return { state: 'queued' }
}

/** Starts the oldest queued run of a schedule. Returns false when there is none. */
async function startQueued({ pool, store, ...deps }: Deps): Promise<boolean> {
  return publishing(pool, async (client, afterCommit) => {
    const schedule = await store.lockQueued(client)
    if (!schedule) return false
    await store.openRuns(client, schedule.id)
    const id = await store.firstQueued(client, schedule.id)
    if (id !== undefined)
      await store.settleRun(client, id, await startRun({ store, ...deps }, { client, schedule, afterCommit }))
    return true
  })
}

interface RunStart {
  readonly client: PoolClient
  readonly schedule: ScheduleRow
  readonly afterCommit: (() => void)[]
}

/**
 * Creates session and prompt in the transaction of the tick. Errors that the owner can fix are recorded in the history.
 */
async function startRun(
  { store, sessions, log, ...deps }: Omit<Deps, 'pool' | 'now'>,
  { client, schedule, afterCommit }: RunStart,
): Promise<RunState> {
  try {
    return await store.attempt(client, async () => {
      const caller = await callerOf(deps, schedule, client)
      const start = { body: sessionBody(schedule), caller, existingId: sessionToContinue(schedule) }
      const { sessionId: session_id, promptId: prompt_id, publish } = await sessions.startWithin(client, start)
      if (schedule.session === 'same') await store.setSession(client, schedule.id, session_id)
      afterCommit.push(publish)
      return { state: 'started', session_id, prompt_id }
    })
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    if (error instanceof AppError) return { state: 'skipped', reason: error.message }
    log.error({ err: error, schedule_id: schedule.id }, 'could not start a run of a schedule')
    return { state: 'failed', reason: 'could not start the run; the server log has the cause' }
  }
}

/** Caller of a run: the key that set up the schedule, else the key of its agent, limited to the owner's objects. */
async function callerOf(
  { agents, runAs }: Pick<Deps, 'agents' | 'runAs'>,
  { principal, key_id, agent_id, owner_id: ownerId }: ScheduleRow,
  client: PoolClient,
): Promise<Caller> {
  const agent = key_id === null ? await agents.within(client).find(agent_id, ownerId) : undefined
  return runAs({ principal, ownerId, runAsKeyId: key_id ?? agent?.run_as_key_id ?? null })
}
