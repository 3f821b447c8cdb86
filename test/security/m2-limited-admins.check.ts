import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey, ApiKeyWrite } from '../../src/contract/keys.ts'
import { holderOf, makeKey } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const victims: readonly ApiKeyWrite[] = [{ role: 'admin' }, {}, { max_budget: 0.01 }, { owner_id: 'ada' }]

for (const limits of [{ max_budget: 1 }, { models: ['demo'] }, { owner_id: 'ada' }, { rpm_limit: 5 }]) {
  test(`an admin key with ${Object.keys(limits)[0]} neither sees nor changes keys besides its descendants`, async () => {
    const attacker = await holderOf(service, { role: 'admin', ...limits })
    for (const fields of victims) {
      const victim = await makeKey(service, fields)
      for (const [line, body] of [
        [`GET /api/keys/${victim.id}`, undefined],
        [`PATCH /api/keys/${victim.id}`, { ...limits, label: 'taken' }],
        [`POST /api/keys/${victim.id}/rotate`, {}],
        [`DELETE /api/keys/${victim.id}`, undefined],
        [`GET /api/budgets/key/${victim.id}`, undefined],
      ] as const)
        assert.equal((await send(attacker, line, { body })).status, 404, line)
      assert.equal((await send({ url: service.url, key: victim.key }, 'GET /v1/models')).status, 200)
    }
    const child = await holderOf(attacker)
    const { keys } = (await send(attacker, 'GET /api/keys')).json<{ keys: ApiKey[] }>()
    assert.deepEqual(
      keys.map(({ id }) => id),
      [child.id],
    )
    assert.equal((await send(attacker, `DELETE /api/keys/${child.id}`)).status, 204)
  })
}

test('an admin key that expires ends no key that does not', async () => {
  const attacker = await holderOf(service, { role: 'admin', duration: '1h' })
  const victim = await makeKey(service, { role: 'admin' })
  assert.equal((await send(attacker, `DELETE /api/keys/${victim.id}`)).status, 403)
  assert.equal((await send(attacker, `POST /api/keys/${victim.id}/rotate`)).status, 403)
})
