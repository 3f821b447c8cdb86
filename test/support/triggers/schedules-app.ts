import assert from 'node:assert/strict'
import type { Schedule, ScheduleRun } from '../../../src/contract/schedules.ts'
import { agentStore } from '../../../src/server/agents/store.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import type { Notifications } from '../../../src/server/db/notifications.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { createRunAs } from '../../../src/server/keys/run-as.ts'
import { newId } from '../../../src/server/platform/ids.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import type { Runtime } from '../../../src/server/runtimes/runtime.ts'
import { serveSchedules } from '../../../src/server/schedules/routes.ts'
import { createSchedules } from '../../../src/server/schedules/schedules.ts'
import { type ScheduleStore, scheduleStore } from '../../../src/server/schedules/store.ts'
import { createTicker } from '../../../src/server/schedules/ticker.ts'
import { createEventLog } from '../../../src/server/sessions/log/event-log.ts'
import { eventStore } from '../../../src/server/sessions/log/event-store.ts'
import { LiveEvents } from '../../../src/server/sessions/log/live-events.ts'
import { createPromptQueue } from '../../../src/server/sessions/queue/prompt-queue.ts'
import { promptStore } from '../../../src/server/sessions/queue/prompt-store.ts'
import { sessionStore } from '../../../src/server/sessions/session-store.ts'
import { createSessions } from '../../../src/server/sessions/sessions.ts'
import { pauseStore } from '../../../src/server/sessions/waits/pause-store.ts'
import { subagentStore } from '../../../src/server/sessions/waits/subagent-store.ts'
import { registryOf } from '../gateway/registry-of.ts'
import { freshDatabase } from '../service/database.ts'

const log = createLog('silent')
const callers = {
  master: masterCaller,
  ana: {
    principal: 'ana',
    role: 'user',
    ownerScope: 'ana',
    key: { id: 'key_ana', models: [], isLimited: true, isNarrow: true, expires: false },
  },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

/**
 * Schedules over a fresh database, by a clock that is fixed at the 5th of May 2026 at the time it is set to, and short
 * ways to use them. `x-api-key` names the caller. Nothing runs the prompts.
 */
export async function startSchedulesApp() {
  const { pool, db } = await freshDatabase()
  const agents = agentStore(db)
  const store = scheduleStore(pool)
  const runAs = createRunAs({ workerById: async id => (id === callers.ana.key.id ? callers.ana : undefined) })
  let clock = new Date('2026-05-05T08:00:00Z')
  const now = async () => clock

  /** The sessions of one replica. */
  function sessionsOf() {
    const sessionRows = sessionStore(pool)
    const events = eventStore(pool)
    const prompts = promptStore(pool)
    const notifications = { on: () => undefined, onReconnect: () => undefined } as unknown as Notifications
    const live = new LiveEvents({ store: events, notifications, owner: newId('run'), log })
    const eventLog = createEventLog({ pool, store: events, live, folds: { note: () => undefined } })
    const wakeUps = { send: async () => undefined }
    const pauses = pauseStore(pool)
    const calls = subagentStore(pool)
    return createSessions({
      pool,
      store: sessionRows,
      prompts,
      eventLog,
      agents,
      runtimes: registryOf({ id: 'builtin' } as Runtime),
      queue: createPromptQueue({
        pool,
        store: sessionRows,
        prompts,
        pauses,
        eventLog,
        wakeUps,
        calls,
        taker: undefined,
      }),
      budgets: { setLimits: async () => undefined },
      approvals: {
        checkInput: async () => undefined,
        decideWithin: async () => '',
        closeWithin: async () => undefined,
      },
      customToolCalls: { answerWithin: async () => assert.fail('no session has custom tools') },
      resultSchemas: { schemaProblem: async () => undefined },
      promptFiles: {
        prepare: async () => assert.fail('no prompt has files'),
        textOf: async () => assert.fail('no prompt has files'),
      },
      defaultModel: () => 'demo',
      checkSupport: async () => undefined,
      dispose: async () => undefined,
      onStopped: () => undefined,
      onAnswered: () => undefined,
      threads: { askingThread: async () => undefined },
      makeRoom: async () => false,
    })
  }
  /** The ticker of one more replica, whose store may differ. */
  const newTicker = (over: Partial<ScheduleStore> = {}) =>
    createTicker({ pool, store: { ...store, ...over }, sessions: sessionsOf(), agents, runAs, log, now })

  const sessions = sessionsOf()
  const schedules = createSchedules({ pool, store, agents, sessions, audit: createAudit(auditStore(db)), now })
  const app = createServer({
    authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
    log,
  })
  serveSchedules(app, { schedules })

  async function call<T = Record<string, unknown>>(caller: Name, line: string, payload?: object) {
    const [method, url = ''] = line.split(' ')
    const headers = { 'x-api-key': caller }
    const answer = await app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
    return { status: answer.statusCode, body: answer.json() as T, text: answer.body }
  }
  /** Stores an agent; its id. */
  async function newAgent(owner = 'ana'): Promise<string> {
    const id = newId('agent')
    const fields = { owner_id: owner, name: 'A', model: 'demo', system: '', description: null, harness: 'builtin' }
    const made = { key: undefined, mark: { note: null, created_by: null } }
    await agents.insert({ id, ...fields, tools: {}, config: {} } as never, made, async () => undefined)
    return id
  }
  const historyOf = async ({ id }: Schedule) =>
    (await call<{ runs: ScheduleRun[] }>('ana', `GET /api/schedules/${id}/runs`)).body.runs

  return {
    pool,
    call,
    newAgent,
    newTicker,
    ticker: newTicker(),
    /** Sets the clock. */
    showing(time: string): void {
      clock = new Date(`2026-05-05T${time}Z`)
    },
    /** Makes the only schedule there is, hourly by default, with its own agent. */
    async made(write: object = {}, caller: Name = 'ana'): Promise<Schedule> {
      await pool.query('delete from schedules')
      const agent_id = await newAgent()
      const body = { name: 'Report', agent_id, cron: '0 * * * *', prompt: 'Report.', ...write }
      const answer = await call<Schedule>(caller, 'POST /api/schedules', body)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
    /** Newest first. */
    historyOf,
    /** Hour and state of each run, oldest first. */
    shownRuns: async (schedule: Schedule) =>
      (await historyOf(schedule)).map(({ due_at, state }) => `${due_at.slice(11, 16)} ${state}`).reverse(),
    nextRunOf: async ({ id }: Schedule) => (await schedules.get(id, callers.ana)).next_run_at,
    removeSession: (id: string) => sessions.remove(id, callers.ana),
    setAgentStatus: (id: string, status: string) =>
      pool.query('update agents set status = $2 where id = $1', [id, status]),
    /** Ends the prompt of a run. */
    end: (run: ScheduleRun | undefined, state = 'done') =>
      pool.query('update prompts set state = $2, ended_at = clock_timestamp() where id = $1', [run?.prompt_id, state]),
    count: async (table: string) => Number((await pool.query(`select count(*) from ${table}`)).rows[0].count),
  }
}
