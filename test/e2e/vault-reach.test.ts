import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send, type Target } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const ada = await holderOf(service, { owner_id: 'ada' })
const globalToken = 'whtok-global-0123456789'
await vault(service, { key: 'PAYMENTS', value: globalToken, scope: 'global' })

async function vault(target: Target, body: object): Promise<void> {
  const answer = await send(target, 'POST /api/vault', { body })
  assert.equal(answer.status, 200, answer.text)
}

async function newAgent(target: Target, config: object = {}): Promise<Agent> {
  const answer = await send(target, 'POST /api/agents', {
    body: { name: 'A', owner_id: 'ada', model: 'scripted', config },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Agent>()
}

/** The status of a delivery with this token. */
async function delivered({ id }: Agent, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await send({ url: service.url }, `POST /api/agents/${id}/webhook`, { headers, body: { hello: 1 } })).status
}

const naming = { webhook: { secret_key: 'PAYMENTS' } }

test('L3: an agent that a scoped key set up does not reach a global vault entry by its name', async () => {
  const agent = await newAgent(ada, naming)
  assert.deepEqual([await delivered(agent, globalToken), await delivered(agent, 'whtok-wrong')], [401, 401])
  const changed = await newAgent(service)
  const patch = { name: 'A', owner_id: 'ada', config: naming }
  assert.equal((await send(ada, `PATCH /api/agents/${changed.id}`, { body: patch })).status, 200)
  assert.equal(await delivered(changed, globalToken), 401)
})

test('L3: the entry of the owner under that name counts', async () => {
  await vault(ada, { key: 'PAYMENTS', value: 'whtok-of-ada-0123456789', scope: 'owner' })
  const agent = await newAgent(ada, naming)
  assert.deepEqual([await delivered(agent, 'whtok-of-ada-0123456789'), await delivered(agent, globalToken)], [202, 401])
})

test('L3: global entries count for agents of the master key, and under the name of the agent itself', async () => {
  await vault(service, { key: 'SHARED', value: globalToken, scope: 'global' })
  assert.equal(await delivered(await newAgent(service, { webhook: { secret_key: 'SHARED' } }), globalToken), 202)
  const own = await newAgent(ada)
  await vault(service, { key: `WEBHOOK_${own.id}_SECRET`, value: globalToken, scope: 'global' })
  assert.equal(await delivered(own, globalToken), 202)
})

test('L3: an agent that only names a global entry does not get the reach of the admin who writes that entry', async () => {
  const agent = await newAgent(ada, { webhook: { secret_key: 'BILLING' } })
  await vault(service, { key: 'BILLING', value: globalToken, scope: 'global' })
  const after = (await send(ada, `GET /api/agents/${agent.id}`)).json<Agent>()
  assert.deepEqual([after.run_as_key_id, await delivered(agent, globalToken)], [ada.id, 401])
})

test('L3: a version that a scoped key set up stays limited when an admin writes the webhook secret, and in its copies', async () => {
  const agent = await newAgent(ada)
  await vault(service, { key: `WEBHOOK_${agent.id}_SECRET`, value: globalToken, scope: 'global' })
  const body = { name: 'Renamed', owner_id: 'ada' }
  const renamed = (await send(ada, `PATCH /api/agents/${agent.id}`, { body })).json<Agent>()
  const { agent: copy } = (await send(ada, `GET /api/agents/${agent.id}/versions/2`)).json<{ agent: Agent }>()
  assert.deepEqual([renamed.run_as_key_id, copy.run_as_key_id, copy.name], [null, ada.id, 'Renamed'])
})
