import type { Pool, PoolClient } from 'pg'
import type { AgentStore } from '../agents/store.ts'
import { transaction } from '../db/connect.ts'
import type { Caller } from '../http/caller.ts'
import type { RunAs } from '../keys/run-as.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type DueTicks, dueTicks } from './due-ticks.ts'
import { goOnIn, sessionBody } from './schedules.ts'
import type { RunState, ScheduleRow, ScheduleStore } from './store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ScheduleStore
  readonly sessions: Pick<Sessions, 'startWithin'>
  readonly agents: Pick<AgentStore, 'within'>
  readonly runAs: RunAs
  readonly log: Log
  /** The time by which ticks are due; the database's unless given. */
  readonly now?: (on: Pool | PoolClient) => Promise<Date>
}

const periodMs = 1_000
const maxQueued = 100

/** Runs schedules when they are due. */
export interface Ticker {
  /** Does all that is due now, with what other replicas do meanwhile. */
  look(): Promise<void>
  /** Looks every second. */
  start(): void
  /** Waits for the look at work. */
  stop(): Promise<void>
}

/**
 * Asks the database once a second which schedules are due. No job queue announces ticks: the row of the schedule says
 * when it is due and is locked while its tick is worked off, the primary key of `schedule_runs` lets each tick happen
 * once, and what was due while nobody looked is found in the same way.
 */
export function createTicker(deps: Deps): Ticker {
  const { log, pool, store, now } = deps
  const stopping = new AbortController()
  let stopTimer: (() => Promise<void>) | undefined

  async function look(): Promise<void> {
    const { is_due, is_queued } = await store.openWork(await now?.(pool))
    for (const step of [...(is_due ? [tick] : []), ...(is_queued ? [startQueued] : [])]) {
      let isDone = false
      while (!isDone && !stopping.signal.aborted) isDone = !(await step(deps))
    }
  }

  return {
    look,
    start() {
      stopTimer = every(periodMs, () =>
        look().catch((cause: unknown) => log.warn({ err: cause }, 'could not look for schedules; the next look will')),
      )
    },
    async stop() {
      stopping.abort()
      await stopTimer?.()
    },
  }
}

/** Does the work in one transaction, and tells what was begun in it once that has committed. */
async function telling<T>(pool: Pool, work: (client: PoolClient, tellings: (() => void)[]) => Promise<T>): Promise<T> {
  const tellings: (() => void)[] = []
  const result = await transaction(pool, client => work(client, tellings))
  for (const tell of tellings) tell()
  return result
}

/** Works off one schedule that is due. False when there is none. */
async function tick({ pool, store, log, ...deps }: Deps): Promise<boolean> {
  return telling(pool, async (client, tellings) => {
    const now = await (deps.now ?? store.now)(client)
    const schedule = await store.takeDue(client, now)
    if (!schedule?.next_due_at) return false
    const { run, leftOut, next } = ticksOf(schedule, { first: schedule.next_due_at, now, log })
    if (leftOut) {
      const id = newId('srun')
      const isNew = await store.claimRun(client, {
        id,
        schedule_id: schedule.id,
        due_at: leftOut.dueAt,
        cause: 'missed',
      })
      if (isNew) await store.settleRun(client, id, { state: 'skipped', reason: leftOut.reason })
    }
    for (const { dueAt, cause } of run) {
      const id = newId('srun')
      if (!(await store.claimRun(client, { id, schedule_id: schedule.id, due_at: dueAt, cause }))) continue
      const waits = await stateOfOverlap(store, client, schedule)
      await store.settleRun(client, id, waits ?? (await begin({ store, log, ...deps }, { client, schedule, tellings })))
    }
    await store.setNextDue(client, schedule.id, next ?? null)
    await store.forgetOldRuns(client, schedule.id, now)
    return true
  })
}

interface Due {
  readonly first: Date
  readonly now: Date
  readonly log: Log
}

/** A schedule whose ticks cannot be told any more, since its zone is gone from the system, must not stop the others. */
function ticksOf(schedule: ScheduleRow, { first, now, log }: Due): DueTicks {
  try {
    return dueTicks(schedule, first, now)
  } catch (cause) {
    log.error({ err: cause, schedule_id: schedule.id }, 'the next time of a schedule cannot be told; it rests')
    return {
      run: [],
      leftOut: { dueAt: first, reason: 'its next time cannot be told; write it again' },
      next: undefined,
    }
  }
}

/** Undefined: it can start. */
async function stateOfOverlap(
  store: ScheduleStore,
  client: PoolClient,
  { id, overlap }: ScheduleRow,
): Promise<RunState | undefined> {
  if (overlap === 'allow') return undefined
  const { running, queued } = await store.openRuns(client, id)
  if (running + queued === 0) return undefined
  if (overlap === 'skip') return { state: 'skipped', reason: 'the run before has not ended' }
  if (queued >= maxQueued) return { state: 'skipped', reason: `${queued} runs wait already` }
  return { state: 'queued' }
}

/** Starts the oldest run of a schedule that waited for the one before. False when there is none. */
async function startQueued({ pool, store, ...deps }: Deps): Promise<boolean> {
  return telling(pool, async (client, tellings) => {
    const schedule = await store.takeQueued(client)
    if (!schedule) return false
    await store.openRuns(client, schedule.id)
    const id = await store.firstQueued(client, schedule.id)
    if (id !== undefined)
      await store.settleRun(client, id, await begin({ store, ...deps }, { client, schedule, tellings }))
    return true
  })
}

interface Beginning {
  readonly client: PoolClient
  readonly schedule: ScheduleRow
  readonly tellings: (() => void)[]
}

/** Makes session and prompt in the transaction of the tick. What the schedule's owner can mend is told in the history. */
async function begin(
  { store, sessions, log, ...deps }: Omit<Deps, 'pool' | 'now'>,
  { client, schedule, tellings }: Beginning,
): Promise<RunState> {
  try {
    return await store.attempt(client, async () => {
      const caller = await callerOf(deps, schedule, client)
      const start = { body: sessionBody(schedule), caller, goOn: goOnIn(schedule) }
      const { sessionId: session_id, promptId: prompt_id, tell } = await sessions.startWithin(client, start)
      if (schedule.session === 'same') await store.setSession(client, schedule.id, session_id)
      tellings.push(tell)
      return { state: 'started', session_id, prompt_id }
    })
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    if (error instanceof AppError) return { state: 'skipped', reason: error.message }
    log.error({ err: error, schedule_id: schedule.id }, 'a run of a schedule could not be started')
    return { state: 'failed', reason: 'it could not be started; the log of the service tells why' }
  }
}

/** Under the key that set the schedule up, else under that of its agent, and with no more than the owner's objects. */
async function callerOf(
  { agents, runAs }: Pick<Deps, 'agents' | 'runAs'>,
  { principal, key_id, agent_id, owner_id: ownerId }: ScheduleRow,
  client: PoolClient,
): Promise<Caller> {
  const agent = key_id === null ? await agents.within(client).find(agent_id, ownerId) : undefined
  return runAs({ principal, ownerId, runAsKeyId: key_id ?? agent?.run_as_key_id ?? null })
}
