import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Delivery, WebhookCheck } from '../../src/contract/webhooks.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const payload = { action: 'opened', issue: { number: 7 } }

async function newAgent(webhook: object = {}): Promise<Agent> {
  const body = { name: 'Triage', owner_id: 'ana', model: 'demo', config: { webhook } }
  const made = await send(service, 'POST /api/agents', { body })
  assert.equal(made.status, 201, made.text)
  return made.json<Agent>()
}
const store = async (key: string, value: string) =>
  assert.equal((await send(service, 'POST /api/vault', { body: { key, value } })).status, 200)
const check = async ({ id }: Agent, body: object = {}) => {
  const answer = await send(service, `POST /api/agents/${id}/webhook/check`, { body: { payload, ...body } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<WebhookCheck>()
}
const outcomesOf = ({ checks }: WebhookCheck) => checks.map(({ check: name, outcome }) => [name, outcome])
const deliveries = async ({ id }: Agent) =>
  (await send(service, `GET /api/deliveries?agent_id=${id}`)).json<{ deliveries: Delivery[] }>().deliveries

test('POST /webhook/check lists the outcome of each check and starts nothing', async () => {
  const agent = await newAgent()
  const bare = await check(agent)
  assert.deepEqual(outcomesOf(bare), [
    ['agent', 'passed'],
    ['token', 'failed'],
    ['signature', 'skipped'],
    ['id', 'skipped'],
    ['body', 'passed'],
  ])
  assert.equal(bare.ok, false)
  assert.match(bare.checks[1]?.message ?? '', new RegExp(`WEBHOOK_${agent.id}_SECRET`))

  await store(`WEBHOOK_${agent.id}_SECRET`, 'token-of-the-sender-0123')
  const set = await check(agent, { headers: { 'X-GitHub-Delivery': 'd-1' } })
  assert.deepEqual(
    [set.ok, set.checks[3]?.outcome, set.delivery, set.preview?.outcome],
    [true, 'passed', null, 'accepted'],
  )
  assert.ok(!JSON.stringify(set).includes('token-of-the-sender-0123'))
  assert.deepEqual(await deliveries(agent), [])
})

test('run_agent delivers it as a test, but not when a check fails', async () => {
  const agent = await newAgent()
  assert.equal((await check(agent, { run_agent: true })).delivery, null)
  await store(`WEBHOOK_${agent.id}_SECRET`, 'token-of-the-sender-0123')
  const { delivery } = await check(agent, { run_agent: true })
  assert.deepEqual([delivery?.kind, delivery?.status], ['test', 'accepted'])
  assert.deepEqual(
    (await deliveries(agent)).map(({ id }) => id),
    [delivery?.id],
  )
  await send(service, `POST /api/agents/${agent.id}/pause`)
  assert.deepEqual(outcomesOf(await check(agent))[0], ['agent', 'failed'])
})

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
for (const signature of [
  { preset: 'github' },
  { preset: 'standard-webhooks' },
  { preset: 'slack' },
  { preset: 'stripe' },
  {
    preset: 'custom',
    header: 'X-Sum',
    prefix: 'v1=',
    algorithm: 'sha512',
    encoding: 'base64',
    timestamp_header: 'X-Time',
  },
]) {
  test(`a signature of ${signature.preset} is checked with the stored secret`, async () => {
    const key = `SIGNING_${signature.preset}`
    const agent = await newAgent({ signature: { ...signature, secret_key: key, mode: 'instead' } })
    const token = ['token', 'skipped']
    assert.deepEqual(outcomesOf(await check(agent)).slice(1, 3), [token, ['signature', 'failed']])
    await store(key, secret)
    assert.deepEqual(outcomesOf(await check(agent)).slice(1, 3), [token, ['signature', 'passed']])
  })
}

test('a filter that does not match, a missing id header and headers with credentials are named', async () => {
  const agent = await newAgent({ events: ['push'], delivery_id_header: 'X-Event-Id' })
  const found = await check(agent, { headers: { 'X-GitHub-Event': 'issues' } })
  assert.deepEqual(outcomesOf(found).slice(3), [
    ['id', 'failed'],
    ['body', 'skipped'],
  ])
  const path = `POST /api/agents/${agent.id}/webhook/check`
  const refused = await send(service, path, { body: { payload, headers: { Authorization: 'Bearer x' } } })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /headers\.Authorization/)
  const bob = await holderOf(service, { owner_id: 'bob' })
  assert.equal((await send(bob, path, { body: { payload } })).status, 404)
})
