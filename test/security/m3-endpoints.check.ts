import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownEndpoint, WebhookEndpoint } from '../../src/contract/webhook-endpoints.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startWebhookReceiver } from '../support/triggers/webhook-receiver.ts'

const receiver = await startWebhookReceiver()
const service = await startService({
  config: JSON.stringify({ outbound: { allow: [receiver.host] } }),
})
const path = '/api/webhook-endpoints'

async function newSession(target: Target): Promise<string> {
  const answer = await send(target, 'POST /session', { body: { prompt: 'hello' } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ id: string }>().id
}

const toldOf = (session: string): number => receiver.accepted.filter(({ text }) => text.includes(session)).length

test('a key with only a label neither makes an endpoint for all owners nor takes one over', async () => {
  const attacker = await holderOf(service, { label: 'anyone' })
  for (const body of [
    { url: receiver.url },
    { url: receiver.url, agent_ids: [] },
    { url: receiver.url, events: ['*'] },
  ])
    assert.equal((await send(attacker, `POST ${path}`, { body })).status, 403)
  const admins = await send(service, `POST ${path}`, { body: { url: 'https://example.com/ours' } })
  const { id } = admins.json<ShownEndpoint>()
  for (const [line, body] of [
    [`PATCH ${path}/${id}`, { url: receiver.url }],
    [`POST ${path}/${id}/rotate`, {}],
    [`DELETE ${path}/${id}`, undefined],
  ] as const)
    assert.equal((await send(attacker, line, { body })).status, 403, line)
})

test('an endpoint receives nothing more once the key that made it is revoked', async () => {
  const ada = await holderOf(service, { owner_id: 'ada' })
  const attacker = await holderOf(service, { label: 'anyone' })
  const made = await send(attacker, `POST ${path}`, { body: { url: receiver.url, owner_id: 'ada' } })
  assert.equal(made.status, 201, made.text)
  const { id } = made.json<ShownEndpoint>()
  const before = await newSession(ada)
  await eventually(() => toldOf(before) > 0, { what: 'the first delivery' })
  assert.equal((await send(service, `DELETE /api/keys/${attacker.id}`)).status, 204)
  await eventually(
    async () => (await send(service, `GET ${path}/${id}`)).json<WebhookEndpoint>().status === 'disabled',
    { what: 'the end of the endpoint', withinMs: 15_000 },
  )
  const after = await newSession(ada)
  const control = await send(service, `POST ${path}`, { body: { url: receiver.url, owner_id: 'bob' } })
  assert.equal(control.status, 201, control.text)
  const bobs = await newSession(await holderOf(service, { owner_id: 'bob' }))
  await eventually(() => toldOf(bobs) > 0, { what: 'the delivery of the control' })
  assert.equal(toldOf(after), 0)
})
