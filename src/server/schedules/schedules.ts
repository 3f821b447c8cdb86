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
  /** The time by which ticks are due; the database's unless given. */
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

const defaults = {
  timezone: 'UTC',
  session: 'new',
  overlap: 'skip',
  missed: 'once',
  missed_limit: 10,
  status: 'active',
} as const

/** The rules of schedules: who may write which, and what is refused. The ticker runs them. */
export type Schedules = ReturnType<typeof createSchedules>

export function createSchedules(deps: Deps) {
  const { pool, store, agents, sessions, audit } = deps
  const now = deps.now ?? store.now

  async function find(id: string, caller: Caller): Promise<ScheduleRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row) throw notFound('schedule', id)
    return row
  }

  /** The values with what follows from them; refuses what could not run. */
  async function checked(values: ScheduleValues, caller: Caller, before?: ScheduleRow): Promise<ScheduleValues> {
    const cron = checkCron(values.cron)
    const timezone = checkTimezone(values.timezone)
    if (values.missed === 'all' && values.overlap === 'skip')
      throw invalid('missed "all" needs overlap "queue" or "allow": with "skip" only the first of them would run')
    const agent = await agents.find(values.agent_id, caller.ownerScope)
    if (!agent) throw notFound('agent', values.agent_id)
    // A paused agent is no reason to refuse a new name, or a pause.
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

  /** Stores what was checked against `before`; undefined when somebody else has written in between. */
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

    /** Runs now, in the name of the caller; `conflict` when the agent takes no sessions. */
    async trigger(id: string, { caller, idempotency }: By): Promise<ScheduleRun> {
      let tell = () => {}
      const run = await transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const schedule = await store.lock(client, id, caller.ownerScope)
          if (!schedule) throw notFound('schedule', id)
          const run = { id: newId('srun'), schedule_id: id, cause: 'manual' as const }
          // Two in one millisecond are two runs.
          for (
            let at = (await now(client)).getTime();
            !(await store.claimRun(client, { ...run, due_at: new Date(at) }));
          )
            at++
          const started = await sessions.startWithin(client, {
            body: sessionBody(schedule),
            caller,
            goOn: goOnIn(schedule),
          })
          tell = started.tell
          const { sessionId: session_id, promptId: prompt_id } = started
          await store.settleRun(client, run.id, { state: 'started', session_id, prompt_id })
          if (schedule.session === 'same') await store.setSession(client, id, session_id)
          return store.run(client, run.id)
        }),
      )
      tell()
      return run
    },

    async runs(id: string, caller: Caller, page: { after: string | undefined; limit: number }): Promise<ScheduleRun[]> {
      await find(id, caller)
      if (page.after !== undefined && !/^\d{1,16}$/.test(page.after)) throw invalidCursor()
      return store.runs(id, page.after, page.limit)
    },
  }
}

interface Change {
  readonly actor: Actor
  readonly before?: ScheduleRow
  readonly after?: ScheduleRow
}

/** Where a run stands in the history of its schedule. */
export const placeOfRun = ({ due_at }: ScheduleRun): string => String(Date.parse(due_at))

/** The session that a run begins with. */
export const sessionBody = ({ id, agent_id, name, prompt, timezone }: ScheduleValues) => ({
  agent_id,
  title: name,
  prompt,
  timezone,
  environment: { source: 'schedule', schedule_id: id },
})

/** The session that the next run goes on with, if it is still there. */
export const goOnIn = ({ session, session_id }: ScheduleValues): string | undefined =>
  session === 'same' ? (session_id ?? undefined) : undefined

/** Whoever changes what runs pays for it: otherwise an edit would spend the money of another key. */
const payerOf = (caller: Caller) => ({ principal: caller.principal, key_id: runAsOf(caller) })

const work = ['agent_id', 'cron', 'timezone', 'prompt', 'session', 'overlap', 'missed', 'missed_limit'] as const

/** A new name, a pause and its end change nothing of what a schedule runs. */
const isSameWork = (one: ScheduleValues, other: ScheduleValues): boolean =>
  work.every(name => one[name] === other[name])

const isSameTiming = (one: ScheduleValues, other: ScheduleValues): boolean =>
  one.cron === other.cron && one.timezone === other.timezone && one.status === other.status

/** Another agent does not go on with the session of the one before. */
const movedSession = (before: ScheduleRow, { agent_id, session }: ScheduleUpdate) =>
  (agent_id !== undefined && agent_id !== before.agent_id) || session === 'new' ? { session_id: null } : {}

/** What the audit log keeps: the prompt by digest and size. */
const publicFields = (row: ScheduleRow) => {
  const { id: _id, prompt, next_run_at: _next, session_id: _session, ...fields } = toSchedule(row)
  const { created_at: _created, updated_at: _updated, ...kept } = fields
  const sha256 = createHash('sha256').update(prompt).digest('hex')
  return { ...kept, prompt: { sha256, bytes: Buffer.byteLength(prompt) } }
}
