import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { registryOf } from '../../../test/support/registry-of.ts'
import type { Schedule, ScheduleRun } from '../../contract/schedules.ts'
import { agentStore } from '../agents/store.ts'
import { createAudit } from '../audit/audit.ts'
import { auditStore } from '../audit/store.ts'
import type { Notifications } from '../db/notifications.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { newId } from '../platform/ids.ts'
import { createLog } from '../platform/log.ts'
import type { Runtime } from '../runtimes/runtime.ts'
import { createEventLog } from '../sessions/event-log.ts'
import { eventStore } from '../sessions/event-store.ts'
import { LiveEvents } from '../sessions/live-events.ts'
import { pauseStore } from '../sessions/pause-store.ts'
import { createPromptQueue } from '../sessions/prompt-queue.ts'
import { promptStore } from '../sessions/prompt-store.ts'
import { sessionStore } from '../sessions/session-store.ts'
import { createSessions } from '../sessions/sessions.ts'
import { serveSchedules } from './routes.ts'
import { createSchedules } from './schedules.ts'
import { scheduleStore } from './store.ts'
import { createTicker } from './ticker.ts'

const { pool, db } = await freshDatabase()
const log = createLog('silent')
const agents = agentStore(db)
const store = scheduleStore(pool)
const callers = {
  master: masterCaller,
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: { id: 'key_ana', models: [], isLimited: true } },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

/** What the clock of the tests shows. */
let clock = new Date('2026-05-05T08:00:00Z')
const now = async () => clock
const showing = (time: string) => {
  clock = new Date(`2026-05-05T${time}Z`)
}

/** The sessions of one replica; nothing runs their prompts. */
function sessionsOf() {
  const sessionRows = sessionStore(pool)
  const events = eventStore(pool)
  const prompts = promptStore(pool)
  const notifications = { on: () => undefined, onReconnect: () => undefined } as unknown as Notifications
  const live = new LiveEvents({ store: events, notifications, owner: newId('run'), log })
  const eventLog = createEventLog({ pool, store: events, live })
  const wakeUps = { send: async () => undefined }
  const pauses = pauseStore(pool)
  const runtimes = registryOf({ id: 'builtin' } as Runtime)
  const queue = createPromptQueue({ store: sessionRows, prompts, pauses, eventLog, wakeUps })
  const dispose = async () => undefined
  return createSessions({
    pool,
    store: sessionRows,
    prompts,
    eventLog,
    agents,
    runtimes,
    queue,
    budgets: { setLimits: async () => undefined },
    approvals: { decideWithin: async () => '', closeWithin: async () => undefined },
    defaultModel: () => 'demo',
    dispose,
  })
}
const sessions = sessionsOf()
const audit = createAudit(auditStore(db))
const schedules = createSchedules({ pool, store, agents, sessions, audit, now })
const ticker = createTicker({ pool, store, sessions, log, now })
const app = createServer({
  authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
  log,
  translateError: thrown => thrown,
})
serveSchedules(app, { schedules })

async function call<T = Record<string, unknown>>(caller: Name, line: string, payload?: object) {
  const [method, url = ''] = line.split(' ')
  const headers = { 'x-api-key': caller }
  const answer = await app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.json() as T, text: answer.body }
}

async function newAgent(owner = 'ana'): Promise<string> {
  const id = newId('agent')
  const fields = { owner_id: owner, name: 'A', model: 'demo', system: '', description: null, harness: 'builtin' }
  await agents.insert({ id, ...fields, tools: {}, config: {} } as never, undefined, async () => undefined)
  return id
}
const setStatus = (id: string, status: string) =>
  pool.query('update agents set status = $2 where id = $1', [id, status])

async function made(write: object = {}, caller: Name = 'ana'): Promise<Schedule> {
  await pool.query('delete from schedules')
  const agent_id = await newAgent()
  const body = { name: 'Report', agent_id, cron: '0 * * * *', prompt: 'Report.', ...write }
  const answer = await call<Schedule>(caller, 'POST /api/schedules', body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
const historyOf = async ({ id }: Schedule) =>
  (await call<{ runs: ScheduleRun[] }>('ana', `GET /api/schedules/${id}/runs`)).body.runs
const shownRuns = async (schedule: Schedule) =>
  (await historyOf(schedule)).map(({ due_at, state }) => `${due_at.slice(11, 16)} ${state}`).reverse()
const count = async (table: string) => Number((await pool.query(`select count(*) from ${table}`)).rows[0].count)
const end = (run: ScheduleRun | undefined, state = 'done') =>
  pool.query('update prompts set state = $2, ended_at = clock_timestamp() where id = $1', [run?.prompt_id, state])

test('a schedule that is due makes one session with one prompt, in the name of who wrote it, and shows it in its history', async () => {
  showing('08:10:00')
  const schedule = await made({ timezone: 'Europe/Berlin' })
  assert.equal(schedule.next_run_at, '2026-05-05T09:00:00.000Z')
  await ticker.look()
  assert.deepEqual(await historyOf(schedule), [])
  showing('09:00:00')
  await ticker.look()
  const [run, ...rest] = await historyOf(schedule)
  assert.deepEqual(rest, [])
  assert.deepEqual(
    [run?.due_at, run?.cause, run?.state, run?.reason],
    ['2026-05-05T09:00:00.000Z', 'tick', 'waiting', null],
  )
  const { rows } = await pool.query(
    `select s.title, s.owner_id, s.agent_id, s.timezone, p.id, p.parts, p.principal, p.key_id
     from sessions s join prompts p on p.session_id = s.id where s.id = $1`,
    [run?.session_id],
  )
  assert.deepEqual(rows, [
    {
      title: 'Report',
      owner_id: 'ana',
      agent_id: schedule.agent_id,
      timezone: 'Europe/Berlin',
      id: run?.prompt_id,
      parts: [{ type: 'text', text: 'Report.' }],
      principal: 'ana',
      key_id: 'key_ana',
    },
  ])
  assert.equal((await schedules.get(schedule.id, callers.ana)).next_run_at, '2026-05-05T10:00:00.000Z')
})

test('F40: eight replicas that look at once run each of 200 ticks once', async () => {
  showing('00:30:00')
  await made()
  const agent_id = await newAgent()
  const body = { name: 'Many', agent_id, prompt: 'x', cron: '0 * * * *' }
  for (let at = 0; at < 9; at++) assert.equal((await call('ana', 'POST /api/schedules', body)).status, 201)
  const before = await count('prompts')
  const replicas = Array.from({ length: 8 }, () => createTicker({ pool, store, sessions: sessionsOf(), log, now }))
  for (let hour = 1; hour <= 20; hour++) {
    showing(`${String(hour).padStart(2, '0')}:00:01`)
    await Promise.all(replicas.map(replica => replica.look()))
    await pool.query(`update prompts set state = 'done'`)
  }
  assert.equal(await count('schedule_runs'), 200)
  assert.equal((await count('prompts')) - before, 200)
})

test('F40: a replica that dies in the middle of a tick leaves nothing, and the next look runs it', async () => {
  showing('08:10:00')
  const schedule = await made()
  showing('09:00:00')
  const before = await count('sessions')
  const dying = createTicker({
    pool,
    store: { ...store, setNextDue: () => Promise.reject(new Error('the end')) },
    sessions,
    log,
    now,
  })
  await assert.rejects(dying.look(), /the end/)
  assert.equal(await count('sessions'), before)
  await ticker.look()
  assert.deepEqual(await shownRuns(schedule), ['09:00 waiting'])
})

test('overlap "skip": a tick is left out, with the reason, while the run before is at work', async () => {
  showing('08:10:00')
  const schedule = await made()
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.look()
  }
  const [second, first] = await historyOf(schedule)
  assert.deepEqual([second?.state, second?.reason], ['skipped', 'the run before has not ended'])
  await end(first)
  showing('11:00:00')
  await ticker.look()
  assert.deepEqual(await shownRuns(schedule), ['09:00 done', '10:00 skipped', '11:00 waiting'])
})

test('overlap "queue": ticks wait for the run before, one after the other, in order', async () => {
  showing('08:10:00')
  const schedule = await made({ overlap: 'queue' })
  for (const time of ['09:00:00', '10:00:00', '11:00:00']) {
    showing(time)
    await ticker.look()
  }
  assert.deepEqual(await shownRuns(schedule), ['09:00 waiting', '10:00 queued', '11:00 queued'])
  await end((await historyOf(schedule))[2], 'error')
  await ticker.look()
  assert.deepEqual(await shownRuns(schedule), ['09:00 error', '10:00 waiting', '11:00 queued'])
  await end((await historyOf(schedule))[1])
  await ticker.look()
  assert.deepEqual(await shownRuns(schedule), ['09:00 error', '10:00 done', '11:00 waiting'])
})

test('overlap "allow": ticks run side by side, each in its session', async () => {
  showing('08:10:00')
  const schedule = await made({ overlap: 'allow' })
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.look()
  }
  const runs = await historyOf(schedule)
  assert.deepEqual(
    runs.map(({ state }) => state),
    ['waiting', 'waiting'],
  )
  assert.equal(new Set(runs.map(({ session_id }) => session_id)).size, 2)
})

test('session "same": runs go on with one session; after its deletion the next begins a new one', async () => {
  showing('08:10:00')
  const schedule = await made({ session: 'same', overlap: 'allow' })
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.look()
  }
  const [second, first] = await historyOf(schedule)
  assert.equal(second?.session_id, first?.session_id)
  await sessions.remove(first?.session_id ?? '', callers.ana)
  showing('11:00:00')
  await ticker.look()
  const [third] = await historyOf(schedule)
  assert.equal(third?.state, 'waiting')
  assert.notEqual(third?.session_id, first?.session_id)
})

const missedCases = [
  ['skip', ['09:00 skipped']],
  ['once', ['09:00 skipped', '12:00 waiting']],
  ['all', ['09:00 skipped', '11:00 waiting', '12:00 waiting']],
] as const
for (const [missed, expected] of missedCases) {
  test(`missed "${missed}": what was due while no server ran is told, and no more runs than that`, async () => {
    showing('08:10:00')
    const schedule = await made({ missed, missed_limit: 2, overlap: 'allow' })
    showing('12:30:00')
    await ticker.look()
    assert.deepEqual(await shownRuns(schedule), expected)
    assert.match((await historyOf(schedule)).at(-1)?.reason ?? '', /no server was there/)
    assert.equal((await schedules.get(schedule.id, callers.ana)).next_run_at, '2026-05-05T13:00:00.000Z')
  })
}

for (const status of ['paused', 'archived']) {
  test(`a tick of an agent that is ${status} is left out, with the reason; a trigger is 409`, async () => {
    showing('08:10:00')
    const schedule = await made()
    await setStatus(schedule.agent_id, status)
    showing('09:00:00')
    await ticker.look()
    const [run] = await historyOf(schedule)
    assert.equal(run?.state, 'skipped')
    assert.match(run?.reason ?? '', new RegExp(`is ${status}`))
    assert.equal((await call('ana', `POST /api/schedules/${schedule.id}/trigger`)).status, 409)
    assert.equal((await historyOf(schedule)).length, 1)
  })
}

test('an agent that was given to another owner, or deleted, gets nothing more', async () => {
  showing('08:10:00')
  const schedule = await made()
  await pool.query(`update agents set owner_id = 'bo' where id = $1`, [schedule.agent_id])
  showing('09:00:00')
  await ticker.look()
  await pool.query('delete from agents where id = $1', [schedule.agent_id])
  showing('10:00:00')
  await ticker.look()
  assert.deepEqual(await shownRuns(schedule), ['09:00 skipped', '10:00 skipped'])
  assert.match((await historyOf(schedule))[0]?.reason ?? '', /agent .* not found/)
})

test('PATCH pauses and resumes: nothing is due meanwhile, and nothing is made up for', async () => {
  showing('08:10:00')
  const schedule = await made({ missed: 'all', overlap: 'queue' })
  const url = `PATCH /api/schedules/${schedule.id}`
  assert.equal((await call('ana', url, { status: 'paused' })).body['next_run_at'], null)
  showing('10:30:00')
  await ticker.look()
  const resumed = await call<Schedule>('ana', url, { status: 'active' })
  assert.equal(resumed.body.next_run_at, '2026-05-05T11:00:00.000Z')
  await ticker.look()
  assert.deepEqual(await historyOf(schedule), [])
})

test('PATCH of the pattern or the zone sets the next run; of other fields it stays', async () => {
  showing('08:10:00')
  const schedule = await made()
  const url = `PATCH /api/schedules/${schedule.id}`
  const zoned = await call<Schedule>('ana', url, { cron: '30  9 * * *', timezone: 'Asia/Kathmandu' })
  assert.deepEqual([zoned.body.cron, zoned.body.next_run_at], ['30 9 * * *', '2026-05-06T03:45:00.000Z'])
  showing('09:00:00')
  const renamed = await call<Schedule>('ana', url, { name: 'Renamed' })
  assert.deepEqual([renamed.body.name, renamed.body.next_run_at], ['Renamed', '2026-05-06T03:45:00.000Z'])
})

test('whoever changes a schedule pays for its next runs', async () => {
  showing('08:10:00')
  const schedule = await made({}, 'master')
  const payer = async () => (await pool.query('select principal, key_id from schedules')).rows
  assert.deepEqual(await payer(), [{ principal: 'master', key_id: null }])
  await call('ana', `PATCH /api/schedules/${schedule.id}`, { prompt: 'Something else.' })
  assert.deepEqual(await payer(), [{ principal: 'ana', key_id: 'key_ana' }])
})

test('POST /trigger runs now, also while it is paused or at work, and changes nothing of the next tick', async () => {
  showing('08:10:00')
  const schedule = await made({ status: 'paused' })
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => call<ScheduleRun>('ana', `POST /api/schedules/${schedule.id}/trigger`)),
  )
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.cause, body.state]),
    Array.from({ length: 3 }, () => [202, 'manual', 'waiting']),
  )
  assert.equal(new Set(answers.map(({ body }) => body.session_id)).size, 3)
  assert.equal((await schedules.get(schedule.id, callers.ana)).next_run_at, null)
})

test('the history is paged without gaps or repeats', async () => {
  showing('00:10:00')
  const schedule = await made({ overlap: 'allow' })
  for (let hour = 1; hour <= 5; hour++) {
    showing(`0${hour}:00:00`)
    await ticker.look()
  }
  const seen: string[] = []
  for (let query = '?limit=2'; query !== ''; ) {
    const { body } = await call<{ runs: ScheduleRun[]; next_cursor: string | null }>(
      'ana',
      `GET /api/schedules/${schedule.id}/runs${query}`,
    )
    seen.push(...body.runs.map(({ due_at }) => due_at.slice(11, 13)))
    query = body.next_cursor === null ? '' : `?limit=2&cursor=${body.next_cursor}`
  }
  assert.deepEqual(seen, ['05', '04', '03', '02', '01'])
})

const refused: readonly (readonly [write: object, message: RegExp])[] = [
  [{ cron: '0 0 30 2 *' }, /^cron .* never fires/],
  [{ cron: '61 * * * *' }, /^cron has the minute "61"/],
  [{ cron: 7 }, /^cron must be string/],
  [{ timezone: 'Mars/Olympus' }, /^timezone must be a name/],
  [{ timezone: '+02:00' }, /^timezone must be a name/],
  [{ timezone: '' }, /^timezone must be a name/],
  [{ prompt: '  ' }, /^prompt must/],
  [{ name: '' }, /^name must/],
  [{ overlap: 'maybe' }, /^overlap must/],
  [{ missed: 'some' }, /^missed must/],
  [{ missed: 'all' }, /^missed "all" needs overlap/],
  [{ missed_limit: 101 }, /^missed_limit must/],
  [{ session: 'ses_1' }, /^session must/],
  [{ status: 'gone' }, /^status must/],
]
for (const [write, message] of refused) {
  test(`POST and PATCH refuse ${JSON.stringify(write)} with 400 and name the field`, async () => {
    showing('08:10:00')
    const schedule = await made()
    const body = { name: 'n', agent_id: schedule.agent_id, cron: '* * * * *', prompt: 'p', ...write }
    for (const line of ['POST /api/schedules', `PATCH /api/schedules/${schedule.id}`]) {
      const answer = await call<{ error: { message: string } }>('ana', line, line.startsWith('POST') ? body : write)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.error.message, message)
    }
    assert.equal(await count('schedules'), 1)
  })
}

test("S10: a schedule of another owner is 404, and so is one for another owner's agent", async () => {
  showing('08:10:00')
  const schedule = await made()
  const url = `/api/schedules/${schedule.id}`
  for (const line of [`GET ${url}`, `PATCH ${url}`, `DELETE ${url}`, `POST ${url}/trigger`, `GET ${url}/runs`]) {
    const answer = await call('bo', line, line.startsWith('PATCH') ? { name: 'mine' } : undefined)
    assert.equal(answer.status, 404, line)
    assert.deepEqual(answer.body, { error: { type: 'gateway_error', message: `schedule ${schedule.id} not found` } })
  }
  assert.deepEqual((await call<{ schedules: [] }>('bo', 'GET /api/schedules')).body.schedules, [])
  const body = { name: 'n', agent_id: schedule.agent_id, cron: '* * * * *', prompt: 'p' }
  assert.equal((await call('bo', 'POST /api/schedules', body)).status, 404)
  const own = await call<Schedule>('bo', 'POST /api/schedules', { ...body, agent_id: await newAgent('bo') })
  const moved = await call('bo', `PATCH /api/schedules/${own.body.id}`, { agent_id: schedule.agent_id })
  assert.equal(moved.status, 404)
})

test('S55: each change is one row in the audit log, without the prompt', async () => {
  showing('08:10:00')
  const schedule = await made({ prompt: 'canary-prompt' })
  await call('ana', `PATCH /api/schedules/${schedule.id}`, { status: 'paused' })
  await call('ana', `DELETE /api/schedules/${schedule.id}`)
  const { rows } = await pool.query('select * from audit_log where object_id = $1 order by id', [schedule.id])
  assert.deepEqual(
    rows.map(({ action, owner_id }) => [action, owner_id]),
    ['create', 'update', 'delete'].map(verb => [`schedule.${verb}`, 'ana']),
  )
  assert.doesNotMatch(JSON.stringify(rows), /canary-prompt/)
})
