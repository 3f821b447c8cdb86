import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSchedulesApp } from '../../../test/support/triggers/schedules-app.ts'
import type { ListedSchedule, Schedule, SchedulePreview, ScheduleRun } from '../../contract/schedules.ts'

const { pool, call, newAgent, ticker, showing, made, historyOf, nextRunOf, count } = await startSchedulesApp()

test('PATCH pauses and resumes, and ticks of the pause do not run later', async () => {
  showing('08:10:00')
  const schedule = await made({ missed: 'all', overlap: 'queue' })
  const url = `PATCH /api/schedules/${schedule.id}`
  assert.equal((await call('ana', url, { status: 'paused' })).body['next_run_at'], null)
  showing('10:30:00')
  await ticker.poll()
  const resumed = await call<Schedule>('ana', url, { status: 'active' })
  assert.equal(resumed.body.next_run_at, '2026-05-05T11:00:00.000Z')
  await ticker.poll()
  assert.deepEqual(await historyOf(schedule), [])
})

test('POST /api/schedules/preview returns the next times in the zone, and names a wrong field', async () => {
  const path = 'POST /api/schedules/preview'
  const { status, body } = await call<SchedulePreview>('ana', path, {
    cron: '30  9 1 1 *',
    timezone: 'Asia/Kathmandu',
    count: 2,
  })
  assert.deepEqual([status, body.cron, body.timezone, body.runs.length], [200, '30 9 1 1 *', 'Asia/Kathmandu', 2])
  assert.ok(body.runs.every(run => run.endsWith('-01-01T03:45:00.000Z')))
  assert.equal((await call<SchedulePreview>('ana', path, { cron: '* * * * *' })).body.runs.length, 5)
  for (const [wrong, field] of [
    [{ cron: '61 * * * *' }, /cron: minute/],
    [{ cron: '* * *' }, /cron must have five fields/],
    [{ cron: '* * * * *', timezone: 'Mars/Olympus' }, /timezone/],
    [{ cron: '* * * * *', count: 11 }, /count/],
    [{}, /cron/],
  ] as const) {
    const answer = await call('ana', path, wrong)
    assert.equal(answer.status, 400)
    assert.match(JSON.stringify(answer.body), field)
  }
})

test('PATCH of the pattern or the zone changes the next run, and PATCH of other fields does not', async () => {
  showing('08:10:00')
  const schedule = await made()
  const url = `PATCH /api/schedules/${schedule.id}`
  const zoned = await call<Schedule>('ana', url, { cron: '30  9 * * *', timezone: 'Asia/Kathmandu' })
  assert.deepEqual([zoned.body.cron, zoned.body.next_run_at], ['30 9 * * *', '2026-05-06T03:45:00.000Z'])
  showing('09:00:00')
  const renamed = await call<Schedule>('ana', url, { name: 'Renamed' })
  assert.deepEqual([renamed.body.name, renamed.body.next_run_at], ['Renamed', '2026-05-06T03:45:00.000Z'])
})

test('the caller that changes a schedule pays for its next runs', async () => {
  showing('08:10:00')
  const schedule = await made({}, 'master')
  const payer = async () => (await pool.query('select principal, key_id from schedules')).rows
  assert.deepEqual(await payer(), [{ principal: 'master', key_id: null }])
  await call('ana', `PATCH /api/schedules/${schedule.id}`, { prompt: 'Something else.' })
  assert.deepEqual(await payer(), [{ principal: 'ana', key_id: 'key_ana' }])
})

test('POST /trigger runs a schedule now, also a paused or running one, and does not change the next tick', async () => {
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
  assert.equal(await nextRunOf(schedule), null)
})

test('the history is paged without gaps or repeats', async () => {
  showing('00:10:00')
  const schedule = await made({ overlap: 'allow' })
  for (let hour = 1; hour <= 5; hour++) {
    showing(`0${hour}:00:00`)
    await ticker.poll()
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

test('the history can be narrowed to a state, and lists have the newest run of each schedule on request', async () => {
  showing('00:10:00')
  const schedule = await made({ overlap: 'skip' })
  const { agent_id } = schedule
  const yearly = { name: 'Yearly', agent_id, cron: '0 0 1 1 *', prompt: 'Report.' }
  const quiet = (await call<Schedule>('ana', 'POST /api/schedules', yearly)).body
  for (const hour of ['01', '02', '03']) {
    showing(`${hour}:00:00`)
    await ticker.poll()
  }
  const path = `GET /api/schedules/${schedule.id}/runs`
  const stateOf = async (state: string) =>
    (await call<{ runs: ScheduleRun[] }>('ana', `${path}?state=${state}`)).body.runs.map(run =>
      run.due_at.slice(11, 13),
    )
  assert.deepEqual(
    [await stateOf('skipped'), await stateOf('waiting'), await stateOf('done')],
    [['03', '02'], ['01'], []],
  )
  assert.equal((await call('ana', `${path}?state=missed`)).status, 400)

  const list = async (query: string) =>
    (await call<{ schedules: ListedSchedule[] }>('ana', `GET /api/schedules${query}`)).body.schedules
  const [newest, first] = await list('?include=last_run')
  assert.deepEqual([newest?.id, newest?.last_run], [quiet.id, null])
  assert.deepEqual(
    [first?.id, first?.last_run?.state, first?.last_run?.due_at.slice(11, 13)],
    [schedule.id, 'skipped', '03'],
  )
  assert.ok((await list('')).every(each => !('last_run' in each)))
})

const rejected: readonly (readonly [write: object, message: RegExp])[] = [
  [{ cron: '0 0 30 2 *' }, /^cron .* never fires/],
  [{ cron: '61 * * * *' }, /^cron: minute must be .*, not "61"/],
  [{ cron: 7 }, /^cron must be string/],
  [{ timezone: 'Mars/Olympus' }, /^timezone must be an IANA time zone/],
  [{ timezone: '+02:00' }, /^timezone must be an IANA time zone/],
  [{ timezone: '' }, /^timezone must be an IANA time zone/],
  [{ prompt: '  ' }, /^prompt must/],
  [{ name: '' }, /^name must/],
  [{ overlap: 'maybe' }, /^overlap must/],
  [{ missed: 'some' }, /^missed must/],
  [{ missed: 'all' }, /^missed "all" requires overlap/],
  [{ missed_limit: 101 }, /^missed_limit must/],
  [{ session: 'ses_1' }, /^session must/],
  [{ status: 'gone' }, /^status must/],
]
for (const [write, message] of rejected) {
  test(`POST and PATCH reject ${JSON.stringify(write)} with 400 and name the field`, async () => {
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

test('S55: each change is one audit row without the prompt', async () => {
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
