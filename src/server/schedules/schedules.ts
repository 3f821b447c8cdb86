import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Schedule, ScheduleCreate, ScheduleRun, ScheduleUpdate } from '../../contract/schedules.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { runAsOf } from '../http/reach.ts'
import { checkTimezone } from '../http/time-range.ts'
import { invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { checkCron, nextRun } from './next-run.ts'
import { type ScheduleRow, type ScheduleStore, type ScheduleValues, toSchedule } from './store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ScheduleStore
  readonly agents: Pick<AgentStore, 'find'>
  readonly sessions: Pick<Sessions, 'check' | 'startWithin'>
  readonly audit: Audit
  /** Clock for due ticks; the database's clock by default. */
  readonly now?: (on: PoolClient) => Promise<Date>
}

interface By {
  readonly caller: Caller
  readonly actor: Actor
  readonly idempotency?: Idempotency | undefined
}

interface ListOf {
  readonly agentId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

interface RunsOf {
  readonly after: string | undefined
  readonly limit: number
  readonly state: ScheduleRun['state'] | undefined
}

const defaults = {
  timezone: 'UTC',
  session: 'new',
  overlap: 'skip',
  missed: 'once',
  missed_limit: 10,
  status: 'active',
} as const

/** Rules of schedules: who may write which, and which writes are rejected. The ticker runs them. */
export type Schedules = ReturnType<typeof createSchedules>

export function createSchedules(deps: Deps) {
  const { pool, store, agents, sessions, audit } = deps
  const now = deps.now ?? store.now

  async function find(id: string, caller: Caller): Promise<ScheduleRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row) throw notFound('schedule', id)
    return row
  }

  /** Completes and checks the values. Throws for a schedule that could not run. */
  async function checked(values: ScheduleValues, caller: Caller, before?: ScheduleRow): Promise<ScheduleValues> {
    const cron = checkCron(values.cron)
    const timezone = checkTimezone(values.timezone)
    if (values.missed === 'all' && values.overlap === 'skip')
      throw invalid(
        'missed "all" requires overlap "queue" or "allow": with "skip" only the first missed tick would run',
      )
    const agent = await agents.find(values.agent_id, caller.ownerScope)
    if (!agent) throw notFound('agent', values.agent_id)
    // Checked only on activation: a schedule of a paused agent can still be renamed or paused.
    if (values.status === 'active' && !(before?.status === 'active' && before.agent_id === agent.id))
      await sessions.check(sessionBody(values), caller)
    const whole = { ...values, cron, timezone, owner_id: agent.owner_id ?? '' }
    return before && isSameWork(before, whole) ? whole : { ...whole, ...payerOf(caller) }
  }

  const dueAfter = (values: ScheduleValues, time: Date): Date | null =>
    values.status === 'active' ? (nextRun(values, time) ?? null) : null

  function record(client: PoolClient, action: string, { actor, before, after }: Change): Promise<void> {
    const { id = '', owner_id = null } = after ?? before ?? {}
    const fields = { before: before && publicFields(before), after: after && publicFields(after) }
    return audit.record(sqlOfClient(client), {
      actor,
      action: `schedule.${action}`,
      objectId: id,
      ownerId: owner_id,
      ...fields,
    })
  }

  /**
   * Stores values that were checked against `before`; returns undefined when another request has changed the schedule
   * since.
   */
  async function replace(before: ScheduleRow, values: ScheduleValues, { caller, actor }: By) {
    return transaction(pool, async client => {
      const current = await store.lock(client, before.id, caller.ownerScope)
      if (!current) throw notFound('schedule', before.id)
      if (current.updated_at.getTime() !== before.updated_at.getTime()) return undefined
      const next_due_at = isSameTiming(values, current) ? current.next_due_at : dueAfter(values, await now(client))
      const session_id = values.session_id === null ? null : current.session_id
      const after = await store.update(client, { ...values, next_due_at, session_id })
      await record(client, 'update', { actor, before: current, after })
      return after
    })
  }

  return {
    get: async (id: string, caller: Caller): Promise<Schedule> => toSchedule(await find(id, caller)),

    async list(page: ListOf, { ownerScope }: Caller): Promise<Schedule[]> {
      return (await store.list({ ...page, owner: ownerScope })).map(toSchedule)
    },

    async create(write: ScheduleCreate, { caller, actor, idempotency }: By): Promise<Schedule> {
      const given = { ...defaults, ...write, id: newId('sch'), session_id: null, next_due_at: null }
      const values = await checked({ ...given, owner_id: '', ...payerOf(caller) }, caller)
      return transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const after = await store.insert(client, { ...values, next_due_at: dueAfter(values, await now(client)) })
          await record(client, 'create', { actor, after })
          return toSchedule(after)
        }),
      )
    },

    async update(id: string, write: ScheduleUpdate, { caller, actor }: By): Promise<Schedule> {
      for (;;) {
        const before = await find(id, caller)
        const values = await checked({ ...before, ...write, ...movedSession(before, write) }, caller, before)
        const after = await replace(before, values, { caller, actor })
        if (after) return toSchedule(after)
      }
    },

    async remove(id: string, { caller, actor }: By): Promise<void> {
      await transaction(pool, async client => {
        const before = await store.lock(client, id, caller.ownerScope)
        if (!before) throw notFound('schedule', id)
        await store.remove(client, id)
        await record(client, 'delete', { actor, before })
      })
    },

    /** Runs the schedule now, on behalf of the caller. Throws `conflict` when the agent does not accept sessions. */
    async trigger(id: string, { caller, idempotency }: By): Promise<ScheduleRun> {
      let publish = () => {}
      const run = await transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const schedule = await store.lock(client, id, caller.ownerScope)
          if (!schedule) throw notFound('schedule', id)
          const run = { id: newId('srun'), schedule_id: id, cause: 'manual' as const }
          // Two triggers in the same millisecond are two runs.
          for (
            let at = (await now(client)).getTime();
            !(await store.claimRun(client, { ...run, due_at: new Date(at) }));
          )
            at++
          const started = await sessions.startWithin(client, {
            body: sessionBody(schedule),
            caller,
            existingId: sessionToContinue(schedule),
          })
          publish = started.publish
          const { sessionId: session_id, promptId: prompt_id } = started
          await store.settleRun(client, run.id, { state: 'started', session_id, prompt_id })
          if (schedule.session === 'same') await store.setSession(client, id, session_id)
          return store.run(client, run.id)
        }),
      )
      publish()
      return run
    },

    /** Returns the newest run of each of the schedules that has one. */
    async lastRuns(of: readonly Pick<Schedule, 'id'>[]): Promise<ReadonlyMap<string, ScheduleRun>> {
      const runs = await store.lastRuns(of.map(({ id }) => id))
      return new Map(runs.map(run => [run.schedule_id, run]))
    },

    async runs(id: string, caller: Caller, page: RunsOf): Promise<ScheduleRun[]> {
      await find(id, caller)
      if (page.after !== undefined && !/^\d{1,15}$/.test(page.after)) throw invalidCursor()
      return store.runs(id, { before: page.after, limit: page.limit, state: page.state })
    },
  }
}

interface Change {
  readonly actor: Actor
  readonly before?: ScheduleRow
  readonly after?: ScheduleRow
}

/** Position of a run in the history of its schedule, for cursors. */
export const placeOfRun = ({ due_at }: ScheduleRun): string => String(Date.parse(due_at))

/** Body of the session that a run starts. */
export const sessionBody = ({ id, agent_id, name, prompt, timezone }: ScheduleValues) => ({
  agent_id,
  title: name,
  prompt,
  timezone,
  environment: { source: 'schedule', schedule_id: id },
})

/** Returns the session that the next run continues, if it still exists. */
export const sessionToContinue = ({ session, session_id }: ScheduleValues): string | undefined =>
  session === 'same' ? (session_id ?? undefined) : undefined

/** The key of the last change pays for the runs; otherwise an edit could spend the budget of another key. */
const payerOf = (caller: Caller) => ({ principal: caller.principal, key_id: runAsOf(caller) })

const work = ['agent_id', 'cron', 'timezone', 'prompt', 'session', 'overlap', 'missed', 'missed_limit'] as const

/** True unless a field changes what the schedule runs or when; name and status do not. */
const isSameWork = (one: ScheduleValues, other: ScheduleValues): boolean =>
  work.every(name => one[name] === other[name])

const isSameTiming = (one: ScheduleValues, other: ScheduleValues): boolean =>
  one.cron === other.cron && one.timezone === other.timezone && one.status === other.status

/** A new agent does not continue the session of the previous one. */
const movedSession = (before: ScheduleRow, { agent_id, session }: ScheduleUpdate) =>
  (agent_id !== undefined && agent_id !== before.agent_id) || session === 'new' ? { session_id: null } : {}

/** Returns the fields for the audit log: the prompt as digest and size. */
const publicFields = (row: ScheduleRow) => {
  const { id: _id, prompt, next_run_at: _next, session_id: _session, ...fields } = toSchedule(row)
  const { created_at: _created, updated_at: _updated, ...rest } = fields
  const sha256 = createHash('sha256').update(prompt).digest('hex')
  return { ...rest, prompt: { sha256, bytes: Buffer.byteLength(prompt) } }
}
