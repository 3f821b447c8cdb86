import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPricedService } from '../support/keys/priced-service.ts'
import { makeKey } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'

// Each call costs ten cents, and the parent may spend 50.
const { service, request: ask, key, keyRecord } = await startPricedService()

test('five children with the whole budget each spend the budget of their parent together', async () => {
  const parent = await key({ role: 'admin', max_budget: 0.5 })
  const children = await Promise.all(Array.from({ length: 5 }, () => makeKey({ ...service, key: parent.key })))
  const calls = Array.from({ length: 30 }, (_, at) => ask(children[at % 5]?.key ?? ''))
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  // Calls in flight reserve what they may cost, so fewer may pass at first; then one at a time until the budget is used up.
  for (let at = 0; at < 10; at++) statuses.push((await ask(children[at % 5]?.key ?? '')).status)
  assert.ok(statuses.includes(402))
  assert.equal(statuses.filter(status => status === 200).length, 5)
  assert.equal((await keyRecord(parent.id)).spend, 0.5)
})

test('a budgeted admin key adds no model, changes no price and stores no provider credential', async () => {
  const parent = await key({ role: 'admin', max_budget: 0.5 })
  const child = await makeKey({ ...service, key: parent.key }, { role: 'admin' })
  const own = await send(service, 'POST /api/models', {
    body: {
      model_name: 'ours',
      params: { model: 'openai/x', api_key: 'sk-ours', input_cost_per_token: 0.001, output_cost_per_token: 0.001 },
    },
  })
  assert.equal(own.status, 201, own.text)
  const free = { input_cost_per_token: 0, output_cost_per_token: 0 }
  for (const { key: presented } of [parent, child]) {
    for (const [line, body] of [
      [
        'POST /api/models',
        { model_name: 'free', params: { model: 'openai/x', api_key: 'sk-of-the-attacker', ...free } },
      ],
      [`PATCH /api/models/${own.json<{ id: string }>().id}`, { params: free }],
      [`DELETE /api/models/${own.json<{ id: string }>().id}`, undefined],
      ['PUT /api/providers/openai', { api_key: 'sk-of-the-attacker', api_base: 'https://attacker.example' }],
    ] as const) {
      const answer = await send({ ...service, key: presented }, line, { body })
      assert.equal(answer.status, 403, `${line}: ${answer.text}`)
    }
  }
})

test('a revoked parent takes its children along, at once', async () => {
  const parent = await key({ role: 'admin', max_budget: 5 })
  const child = await makeKey({ ...service, key: parent.key }, { role: 'admin' })
  const grandchild = await makeKey({ ...service, key: child.key })
  assert.equal((await ask(grandchild.key)).status, 200)
  assert.equal((await send(service, `DELETE /api/keys/${parent.id}`)).status, 204)
  for (const { key: presented } of [parent, child, grandchild]) assert.equal((await ask(presented)).status, 401)
})
