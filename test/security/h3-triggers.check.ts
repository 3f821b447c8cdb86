import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Schedule } from '../../src/contract/schedules.ts'
import { eventually } from '../support/service/eventually.ts'
import { oneCall, startTriggeredService } from '../support/service/run-as.ts'
import { send } from '../support/service/send.ts'

const { service, upstream, as, okAs, newAgent, setSecret, deliver, key, keyRecord, endOf, payersOf, database } =
  await startTriggeredService()

const sessionIn = (text: string): string => JSON.parse(text).session_id

async function deliveredTo(agent: { id: string }): Promise<string> {
  const answer = await deliver(agent as Parameters<typeof deliver>[0])
  assert.equal(answer.status, 202, answer.text)
  return sessionIn(answer.text)
}

test('a key for another model and a budget of one cent gets no call out of a webhook, an example or a replay', async () => {
  const attacker = await key({ owner_id: 'ada', models: ['other'], max_budget: 0.01 })
  const agent = await newAgent(as(attacker.key))
  await setSecret(as(attacker.key), agent)
  const body = { agent_id: agent.id, payload: { go: 'on' } }
  const sent = await okAs<{ id: string; session_id: string }>(as(attacker.key), 'POST /api/deliveries', { body })
  const again = await okAs<{ session_id: string }>(as(attacker.key), `POST /api/deliveries/${sent.id}/replay`)
  for (const session of [await deliveredTo(agent), sent.session_id, again.session_id])
    assert.notEqual(await endOf(session), 'done')
  assert.equal(upstream.requests.length, 0)
  assert.equal((await keyRecord(attacker.id)).spend, 0)
})

test('a flood of deliveries spends the budget of the key that set the webhook up, and not one call more', async () => {
  const attacker = await key({ owner_id: 'ada', max_budget: 3 * oneCall })
  const agent = await newAgent(as(attacker.key))
  await setSecret(as(attacker.key), agent)
  const sessions = await Promise.all(Array.from({ length: 12 }, () => deliveredTo(agent)))
  await eventually(async () => Math.round((await keyRecord(attacker.id)).spend * 10) === 3, {
    what: 'the budget to be used up',
    withinMs: 30_000,
  })
  const ends = await Promise.all(sessions.map(endOf))
  assert.equal(ends.filter(end => end === 'done').length, 3)
  const rows = await database.query(
    'select count(*) as n from usage where agent_id = $1 and key_id is distinct from $2',
    [agent.id, attacker.id],
  )
  assert.equal(Number(rows.rows[0]?.n), 0)
})

test('whoever takes a webhook over by its secret answers for it', async () => {
  const attacker = await key({ owner_id: 'ada', max_budget: oneCall / 2 })
  const agent = await newAgent(service)
  await setSecret(as(attacker.key), agent)
  assert.equal(await endOf(await deliveredTo(agent)), 'budget')
})

test('a revoked key runs nothing any more: neither its webhook, nor its schedule, nor what waits for its budget', async () => {
  const attacker = await key({ owner_id: 'ada', max_budget: oneCall / 2 })
  const agent = await newAgent(as(attacker.key))
  await setSecret(as(attacker.key), agent)
  const schedule = await okAs<Schedule>(as(attacker.key), 'POST /api/schedules', {
    body: { name: 'Again', agent_id: agent.id, cron: '* * * * *', prompt: 'Go on.' },
  })
  const waiting = await deliveredTo(agent)
  assert.equal(await endOf(waiting), 'budget')
  const before = upstream.requests.length
  assert.equal((await send(service, `DELETE /api/keys/${attacker.id}`)).status, 204)
  await eventually(async () => (await deliver(agent)).status === 409, { what: 'the refusal', withinMs: 6_000 })
  await eventually(async () => (await endOf(waiting)) === 'error', { what: 'the end of what waits', withinMs: 12_000 })
  await database.query(`update schedules set next_due_at = clock_timestamp() - interval '1 second' where id = $1`, [
    schedule.id,
  ])
  await eventually(
    async () =>
      (await database.query(`select from schedule_runs where schedule_id = $1 and state = 'skipped'`, [schedule.id]))
        .rowCount !== 0,
    { what: 'the skipped tick', withinMs: 6_000 },
  )
  assert.equal(upstream.requests.length, before)
})

test('a limited key that changes the model of an agent of the master key pays for its webhook', async () => {
  const attacker = await key({ owner_id: 'ada', max_budget: 1 })
  const agent = await newAgent(service, { model: 'unpriced' })
  await setSecret(service, agent)
  const body = { name: 'Hooked', owner_id: 'ada', model: 'priced' }
  await okAs(as(attacker.key), `PATCH /api/agents/${agent.id}`, { body })
  await okAs(as(service.key), `PATCH /api/agents/${agent.id}`, { body: { name: 'Renamed', owner_id: 'ada' } })
  const session = await deliveredTo(agent)
  assert.equal(await endOf(session), 'done')
  assert.deepEqual(await payersOf(session), [attacker.id])
})
