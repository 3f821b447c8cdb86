import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import type { Schedule, ScheduleRun } from '../../src/contract/schedules.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

async function newAgent(target: Target): Promise<string> {
  const body = { name: 'Worker', owner_id: 'team', system: 'You work.' }
  return (await send(target, 'POST /api/agents', { body })).json<{ id: string }>().id
}

async function newSchedule(target: Target, agent_id: string): Promise<Schedule> {
  // Far away, so that only the test makes it due.
  const body = { name: 'Yearly', agent_id, cron: '0 0 29 2 *', timezone: 'Asia/Kathmandu', prompt: 'hello' }
  const made = await send(target, 'POST /api/schedules', { body })
  assert.equal(made.status, 201, made.text)
  return made.json()
}
const runsOf = async (target: Target, { id }: Schedule) =>
  (await send(target, `GET /api/schedules/${id}/runs`)).json<{ runs: ScheduleRun[] }>().runs

async function makeDue(): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`update schedules set next_due_at = date_trunc('milliseconds', clock_timestamp())`)
  await client.end()
}

const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})
const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const options = { config: configFor(upstream), databaseUrl }
// The first one dies in the last test.
const [first, second] = [await startService(options), await startService(options)]
stops.push(first.stop, second.stop, upstream.stop)

test('a schedule that is due runs its agent to the end, and a trigger does so at once', async () => {
  const schedule = await newSchedule(first, await newAgent(first))
  await makeDue()
  const done = await eventually(async () => {
    const runs = await runsOf(first, schedule)
    return runs.length === 1 && runs[0]?.state === 'done' && runs[0]
  })
  assert.equal(done.cause, 'tick')
  const triggered = await send(first, `POST /api/schedules/${schedule.id}/trigger`)
  assert.equal(triggered.status, 202)
  const again = await eventually(async () => (await runsOf(first, schedule)).find(run => run.cause === 'manual'))
  assert.equal(again.id, triggered.json<ScheduleRun>().id)
  await eventually(async () => (await runsOf(first, schedule)).every(({ state }) => state === 'done'))
})

test('F40: of two replicas, one of which is killed on a tick, 40 schedules run once each', async () => {
  const agent = await newAgent(second)
  const schedules: Schedule[] = []
  for (let at = 0; at < 40; at++) schedules.push(await newSchedule(second, agent))
  await makeDue()
  await eventually(
    async () => (await Promise.all(schedules.slice(0, 5).map(each => runsOf(second, each)))).flat().length > 0,
  )
  await first.kill()
  const all = await eventually(
    async () => {
      const runs = (await Promise.all(schedules.map(each => runsOf(second, each)))).flat()
      return runs.length >= 40 && runs.every(({ state }) => state === 'done') && runs
    },
    { what: 'the end of all runs' },
  )
  assert.equal(all.length, 40)
  assert.equal(new Set(all.map(({ session_id }) => session_id)).size, 40)
  const sessions = await send(second, `GET /session?agent_id=${agent}&limit=200`)
  assert.equal(sessions.json<unknown[]>().length, 40)
})
