// A scoped key names global vault entries in its agent, as a token and as a signing secret, and tries what it guesses against them.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const ada = await holderOf(service, { owner_id: 'ada' })
const secret = 'a-global-secret-0123456789'
const stored = await send(service, 'POST /api/vault', { body: { key: 'BILLING', value: secret, scope: 'global' } })
assert.equal(stored.status, 200)

async function newAgent(webhook: object): Promise<string> {
  const body = { name: 'A', owner_id: 'ada', model: 'scripted', config: { webhook } }
  return (await send(ada, 'POST /api/agents', { body })).json<Agent>().id
}

const body = '{"guess":1}'
const deliver = (id: string, headers: Readonly<Record<string, string>>) =>
  send({ url: service.url }, `POST /api/agents/${id}/webhook`, {
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })

test('L3: a right guess of a global token answers as a wrong one', async () => {
  const id = await newAgent({ secret_key: 'BILLING' })
  const [right, wrong] = [
    await deliver(id, { authorization: `Bearer ${secret}` }),
    await deliver(id, { authorization: 'Bearer no' }),
  ]
  assert.deepEqual([right.status, right.text], [401, wrong.text])
})

test('L3: a right guess of a global signing secret answers as a wrong one', async () => {
  const id = await newAgent({ signature: { preset: 'github', secret_key: 'BILLING', mode: 'instead' } })
  const signedWith = (key: string) => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
  })
  const [right, wrong] = [await deliver(id, signedWith(secret)), await deliver(id, signedWith('no'))]
  assert.deepEqual([right.status, right.text], [401, wrong.text])
})
