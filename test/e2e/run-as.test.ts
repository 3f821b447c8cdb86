import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Schedule, ScheduleRun } from '../../src/contract/schedules.ts'
import type { Delivery } from '../../src/contract/webhooks.ts'
import { eventually } from '../support/service/eventually.ts'
import { startTriggeredService } from '../support/service/run-as.ts'
import { send } from '../support/service/send.ts'

const run = await startTriggeredService()
const { service, as, okAs, newAgent, agentOf, setSecret, deliver, key, keyRecord, endOf, payersOf, database } = run

const sessionOf = (answer: { json<T>(): T }): string => answer.json<{ session_id: string }>().session_id

test('H3: a delivery runs under the key that set the webhook up: its ledger row, its spend and its budget', async () => {
  const ada = await key({ owner_id: 'ada', max_budget: 0.15 })
  const agent = await newAgent(as(ada.key))
  assert.equal(agent.run_as_key_id, ada.id)
  await setSecret(as(ada.key), agent)
  const first = await deliver(agent)
  assert.equal(first.status, 202)
  assert.equal(await endOf(sessionOf(first)), 'done')
  assert.deepEqual(await payersOf(sessionOf(first)), [ada.id])
  await eventually(async () => (await keyRecord(ada.id)).spend === 0.1, { what: 'the spend of the key' })
  const second = await deliver(agent)
  assert.equal(second.status, 202)
  assert.equal(await endOf(sessionOf(second)), 'budget')
  assert.equal((await keyRecord(ada.id)).spend, 0.1)
  const raised = await send(service, `PATCH /api/keys/${ada.id}`, { body: { max_budget: 1 } })
  assert.equal(raised.status, 200)
  assert.equal(await eventuallyDone(sessionOf(second)), 'done')
})

async function eventuallyDone(session: string): Promise<string> {
  await eventually(async () => (await endOf(session)) === 'done', { what: 'the prompt to continue' })
  return endOf(session)
}

test('H3: a delivery uses no model that the key which set it up may not use', async () => {
  const ada = await key({ owner_id: 'ada', models: ['other'] })
  const agent = await newAgent(as(ada.key))
  await setSecret(as(ada.key), agent)
  const requests = run.upstream.requests.length
  const answer = await deliver(agent)
  assert.equal(await endOf(sessionOf(answer)), 'error')
  assert.equal(run.upstream.requests.length, requests)
})

test('H3: once the key is revoked a delivery is 409, and its line in the log reports why', async () => {
  const ada = await key({ owner_id: 'ada', max_budget: 1 })
  const agent = await newAgent(as(ada.key))
  await setSecret(as(ada.key), agent)
  assert.equal((await send(service, `DELETE /api/keys/${ada.id}`)).status, 204)
  await eventually(async () => (await deliver(agent)).status === 409, { what: 'the end of the key', withinMs: 6_000 })
  const answer = await deliver(agent)
  assert.match(answer.text, new RegExp(`key ${ada.id} of this trigger was revoked, has expired or may only read`))
  const { deliveries } = await okAs<{ deliveries: Delivery[] }>(service, `GET /api/deliveries?agent_id=${agent.id}`)
  assert.deepEqual([deliveries[0]?.status, deliveries[0]?.session_id], ['failed', ''])
  assert.match(deliveries[0]?.error ?? '', /was revoked, has expired or may only read/)
  const rescued = await key({ owner_id: 'ada', max_budget: 1 })
  await setSecret(as(rescued.key), agent)
  const again = await deliver(agent)
  assert.equal(again.status, 202, again.text)
  assert.equal(await endOf(sessionOf(again)), 'done')
  assert.deepEqual(await payersOf(sessionOf(again)), [rescued.id])
})

test('H3: model, runtime, tools, config and the webhook secret set the key; a name, a prompt and a pause do not', async () => {
  const ada = await key({ owner_id: 'ada', max_budget: 1 })
  const bound = { name: 'Hooked', owner_id: 'ada' }
  const writes: readonly (readonly [what: string, write: (agent: Agent) => Promise<unknown>, isWork: boolean])[] = [
    ['model', patch({ ...bound, model: 'other' }), true],
    ['runtime', patch({ ...bound, config: { runtime: 'cursor' } }), true],
    ['tools', patch({ ...bound, tools: [{ type: 'agent_toolset_20260401' }] }), true],
    ['config', patch({ ...bound, config: { max_tokens: 50 } }), true],
    ['secret', agent => setSecret(as(ada.key), agent), true],
    ['rollback', agent => okAs(as(ada.key), `POST /api/agents/${agent.id}/versions/1/rollback`), true],
    ['name', patch({ ...bound, name: 'Other' }), false],
    ['system', patch({ ...bound, system: 'Other.' }), false],
    ['pause', agent => okAs(as(ada.key), `POST /api/agents/${agent.id}/pause`), false],
  ]
  for (const [what, write, isWork] of writes) {
    const agent = await newAgent(service)
    await okAs(service, `PATCH /api/agents/${agent.id}`, { body: { ...bound, config: { max_tokens: 70 } } })
    assert.equal((await agentOf(agent.id)).run_as_key_id, null)
    await write(agent)
    assert.equal((await agentOf(agent.id)).run_as_key_id, isWork ? ada.id : null, what)
  }
  function patch(body: object) {
    return (agent: Agent) => okAs(as(ada.key), `PATCH /api/agents/${agent.id}`, { body })
  }
})

test('H3: the master key and an admin key without limits clear the key by the same changes, and by no others', async () => {
  const ada = await key({ owner_id: 'ada', max_budget: 1 })
  const admin = await key({ role: 'admin' })
  const expiring = await key({ role: 'admin', duration: '1h' })
  const agent = await newAgent(as(ada.key))
  const write = (target: string, body: object) =>
    okAs<Agent>(as(target), `PATCH /api/agents/${agent.id}`, { body: { name: 'Hooked', owner_id: 'ada', ...body } })
  assert.equal((await write(service.key, { name: 'Renamed' })).run_as_key_id, ada.id)
  assert.equal((await write(admin.key, { model: 'other' })).run_as_key_id, null)
  assert.equal((await write(expiring.key, { model: 'priced' })).run_as_key_id, expiring.id)
  assert.equal((await write(service.key, { config: { max_tokens: 60 } })).run_as_key_id, null)
})

test('H3: examples and replays run under the key of the caller', async () => {
  const maker = await key({ owner_id: 'ada', max_budget: 1 })
  const caller = await key({ owner_id: 'ada', max_budget: 1 })
  const agent = await newAgent(as(maker.key))
  const body = { agent_id: agent.id, payload: { say: 'hi' } }
  const sent = await okAs<Delivery>(as(caller.key), 'POST /api/deliveries', { body })
  assert.equal(await endOf(sent.session_id), 'done')
  assert.deepEqual(await payersOf(sent.session_id), [caller.id])
  const replayed = await okAs<Delivery>(as(maker.key), `POST /api/deliveries/${sent.id}/replay`)
  assert.equal(await endOf(replayed.session_id), 'done')
  assert.deepEqual(await payersOf(replayed.session_id), [maker.id])
})

test('H3: a schedule runs under the key that set it up, else under that of its agent; a revoked one is skipped', async () => {
  const ada = await key({ owner_id: 'ada', max_budget: 1 })
  const maker = await key({ owner_id: 'ada', max_budget: 1 })
  const agent = await newAgent(as(maker.key))
  const body = { name: 'Report', agent_id: agent.id, cron: '0 0 1 1 *', prompt: 'Report.' }
  const own = await okAs<Schedule>(as(ada.key), 'POST /api/schedules', { body })
  const masters = await okAs<Schedule>(service, 'POST /api/schedules', { body })
  assert.deepEqual([own.run_as_key_id, masters.run_as_key_id], [ada.id, null])
  const paused = await okAs<Schedule>(service, `PATCH /api/schedules/${own.id}`, { body: { name: 'Renamed' } })
  assert.equal(paused.run_as_key_id, ada.id)
  for (const [schedule, payer] of [
    [own, ada],
    [masters, maker],
  ] as const) {
    const { session_id } = await dueRun(schedule.id)
    assert.equal(await endOf(session_id ?? ''), 'done')
    assert.deepEqual(await payersOf(session_id ?? ''), [payer.id])
  }
  assert.equal((await send(service, `DELETE /api/keys/${maker.id}`)).status, 204)
  const run = await dueRun(masters.id)
  assert.equal(run.state, 'skipped')
  assert.match(run.reason ?? '', new RegExp(`^key ${maker.id} of this trigger was revoked`))
})

/** Makes a schedule due now; what became of it. */
async function dueRun(id: string): Promise<ScheduleRun> {
  const text = `update schedules set next_due_at = clock_timestamp() - interval '1 second' where id = $1 returning next_due_at`
  const at = (await database.query<{ next_due_at: Date }>(text, [id])).rows[0]?.next_due_at.toISOString()
  let found: ScheduleRun | undefined
  await eventually(
    async () => {
      const { runs } = await okAs<{ runs: ScheduleRun[] }>(service, `GET /api/schedules/${id}/runs`)
      found = runs.find(({ due_at }) => due_at === at)
      return found !== undefined && found.state !== 'queued'
    },
    { what: 'the run of the schedule' },
  )
  return found ?? assert.fail('no run')
}
