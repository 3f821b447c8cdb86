import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSchedulesApp } from '../../../test/support/triggers/schedules-app.ts'

const app = await startSchedulesApp()
const { pool, call, newAgent, newTicker, ticker, showing, made, historyOf, shownRuns, nextRunOf } = app
const { removeSession, setAgentStatus, end, count } = app

test('a due schedule starts one session with one prompt for its author, and records it in its history', async () => {
  showing('08:10:00')
  const schedule = await made({ timezone: 'Europe/Berlin' })
  assert.equal(schedule.next_run_at, '2026-05-05T09:00:00.000Z')
  await ticker.poll()
  assert.deepEqual(await historyOf(schedule), [])
  showing('09:00:00')
  await ticker.poll()
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
  assert.equal(await nextRunOf(schedule), '2026-05-05T10:00:00.000Z')
})

test('F40: eight replicas that poll concurrently run each of 200 ticks once', async () => {
  showing('00:30:00')
  await made()
  const agent_id = await newAgent()
  const body = { name: 'Many', agent_id, prompt: 'x', cron: '0 * * * *' }
  for (let at = 0; at < 9; at++) assert.equal((await call('ana', 'POST /api/schedules', body)).status, 201)
  const before = await count('prompts')
  const replicas = Array.from({ length: 8 }, () => newTicker())
  for (let hour = 1; hour <= 20; hour++) {
    showing(`${String(hour).padStart(2, '0')}:00:01`)
    await Promise.all(replicas.map(replica => replica.poll()))
    await pool.query(`update prompts set state = 'done'`)
  }
  assert.equal(await count('schedule_runs'), 200)
  assert.equal((await count('prompts')) - before, 200)
})

test('F40: a tick of a replica that dies is rolled back, and the next poll runs it', async () => {
  showing('08:10:00')
  const schedule = await made()
  showing('09:00:00')
  const before = await count('sessions')
  const dying = newTicker({ setNextDue: () => Promise.reject(new Error('the end')) })
  await assert.rejects(dying.poll(), /the end/)
  assert.equal(await count('sessions'), before)
  await ticker.poll()
  assert.deepEqual(await shownRuns(schedule), ['09:00 waiting'])
})

test('overlap "skip": a tick is skipped with a reason while the previous run is in flight', async () => {
  showing('08:10:00')
  const schedule = await made()
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.poll()
  }
  const [second, first] = await historyOf(schedule)
  assert.deepEqual([second?.state, second?.reason], ['skipped', 'previous run has not ended'])
  await end(first)
  showing('11:00:00')
  await ticker.poll()
  assert.deepEqual(await shownRuns(schedule), ['09:00 done', '10:00 skipped', '11:00 waiting'])
})

test('overlap "queue": ticks wait for the previous run, in order', async () => {
  showing('08:10:00')
  const schedule = await made({ overlap: 'queue' })
  for (const time of ['09:00:00', '10:00:00', '11:00:00']) {
    showing(time)
    await ticker.poll()
  }
  assert.deepEqual(await shownRuns(schedule), ['09:00 waiting', '10:00 queued', '11:00 queued'])
  await end((await historyOf(schedule))[2], 'error')
  await ticker.poll()
  assert.deepEqual(await shownRuns(schedule), ['09:00 error', '10:00 waiting', '11:00 queued'])
  await end((await historyOf(schedule))[1])
  await ticker.poll()
  assert.deepEqual(await shownRuns(schedule), ['09:00 error', '10:00 done', '11:00 waiting'])
})

test('overlap "allow": ticks run concurrently, each in its session', async () => {
  showing('08:10:00')
  const schedule = await made({ overlap: 'allow' })
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.poll()
  }
  const runs = await historyOf(schedule)
  assert.deepEqual(
    runs.map(({ state }) => state),
    ['waiting', 'waiting'],
  )
  assert.equal(new Set(runs.map(({ session_id }) => session_id)).size, 2)
})

test('session "same": runs continue one session; after its deletion the next run starts a new one', async () => {
  showing('08:10:00')
  const schedule = await made({ session: 'same', overlap: 'allow' })
  for (const time of ['09:00:00', '10:00:00']) {
    showing(time)
    await ticker.poll()
  }
  const [second, first] = await historyOf(schedule)
  assert.equal(second?.session_id, first?.session_id)
  await removeSession(first?.session_id ?? '')
  showing('11:00:00')
  await ticker.poll()
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
  test(`missed "${missed}": ticks that were due while no server ran are recorded, and only the expected ones run`, async () => {
    showing('08:10:00')
    const schedule = await made({ missed, missed_limit: 2, overlap: 'allow' })
    showing('12:30:00')
    await ticker.poll()
    assert.deepEqual(await shownRuns(schedule), expected)
    assert.match((await historyOf(schedule)).at(-1)?.reason ?? '', /no server was running/)
    assert.equal(await nextRunOf(schedule), '2026-05-05T13:00:00.000Z')
  })
}

for (const status of ['paused', 'archived']) {
  test(`a tick of an agent that is ${status} is skipped with a reason; a trigger is 409`, async () => {
    showing('08:10:00')
    const schedule = await made()
    await setAgentStatus(schedule.agent_id, status)
    showing('09:00:00')
    await ticker.poll()
    const [run] = await historyOf(schedule)
    assert.equal(run?.state, 'skipped')
    assert.match(run?.reason ?? '', new RegExp(`is ${status}`))
    assert.equal((await call('ana', `POST /api/schedules/${schedule.id}/trigger`)).status, 409)
    assert.equal((await historyOf(schedule)).length, 1)
  })
}

test('an agent that is deleted or moved to another owner gets no more runs', async () => {
  showing('08:10:00')
  const schedule = await made()
  await pool.query(`update agents set owner_id = 'bo' where id = $1`, [schedule.agent_id])
  showing('09:00:00')
  await ticker.poll()
  await pool.query('delete from agents where id = $1', [schedule.agent_id])
  showing('10:00:00')
  await ticker.poll()
  assert.deepEqual(await shownRuns(schedule), ['09:00 skipped', '10:00 skipped'])
  assert.match((await historyOf(schedule))[0]?.reason ?? '', /agent .* not found/)
})
