import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { notified, startWebhookEndpointsApp } from '../../../test/support/triggers/webhook-endpoints-app.ts'
import type { ShownEndpoint, WebhookEndpoint } from '../../contract/webhook-endpoints.ts'
import { transaction } from '../db/connect.ts'
import { keyStore } from '../keys/store.ts'

const app = await startWebhookEndpointsApp()
const { pool, call, startReceiver, startReplica, made, newAgent, newSession, append } = app

const path = '/api/webhook-endpoints'
const url = 'https://example.com/hook'

/** Creates the key of the caller `labelled`. */
async function validKey(): Promise<void> {
  await pool.query(`delete from api_keys where id = 'key_l'`)
  await pool.query(`
    insert into api_keys (id, label, role, models, metadata, prefix, last4, created_by)
    values ('key_l', '', 'user', '[]', '{}', '', '', 'master')`)
}

async function endKey(how: 'revoked' | 'expired'): Promise<void> {
  const column = how === 'revoked' ? 'revoked_at' : 'expires_at'
  await pool.query(`update api_keys set ${column} = clock_timestamp() where id = 'key_l'`)
}

test('M3: only admins may create an endpoint for all owners; others must name agents or an owner', async () => {
  const refused = await call('labelled', `POST ${path}`, { url })
  assert.equal(refused.status, 403)
  assert.match(refused.text, /endpoints for all owners require an admin key; set agent_ids or owner_id/)
  const ofAgent = await call<ShownEndpoint>('labelled', `POST ${path}`, { url, agent_ids: [await newAgent()] })
  assert.deepEqual([ofAgent.status, ofAgent.body.owner_id, ofAgent.body.run_as_key_id], [201, null, 'key_l'])
  const ofOwner = await call<ShownEndpoint>('labelled', `POST ${path}`, { url, owner_id: 'ana' })
  assert.deepEqual([ofOwner.status, ofOwner.body.owner_id, ofOwner.body.run_as_key_id], [201, 'ana', 'key_l'])
  const widened = await call('labelled', `PATCH ${path}/${ofAgent.body.id}`, { agent_ids: [] })
  assert.equal(widened.status, 403)
  assert.equal((await call('ana', `POST ${path}`, { url, owner_id: 'bo' })).status, 403)
})

test('M3: only admins change, rotate, test or delete an endpoint for all owners', async () => {
  const { id, run_as_key_id } = await made({ url }, 'master')
  assert.equal(run_as_key_id, null)
  for (const [line, body] of [
    [`PATCH ${path}/${id}`, { url: 'https://attacker.example/' }],
    [`PATCH ${path}/${id}`, { agent_ids: [await newAgent()] }],
    [`POST ${path}/${id}/rotate`, undefined],
    [`POST ${path}/${id}/test`, undefined],
    [`POST ${path}/${id}/deliveries/whd_1/replay`, undefined],
    [`DELETE ${path}/${id}`, undefined],
  ] as const)
    assert.equal((await call('labelled', line, body)).status, 403, line)
})

for (const how of ['revoked', 'expired'] as const) {
  test(`M3: an endpoint is disabled when its key is ${how}, and another key can take it over`, async t => {
    await validKey()
    const receiver = await startReceiver()
    const { id } = await made({ url: receiver.url, owner_id: 'ana' }, 'labelled')
    await startReplica(t)
    const session = await newSession()
    await append(session, 'a.first')
    await eventually(() => receiver.accepted.length === 1)
    await endKey(how)
    await append(session, 'a.second')
    const store = keyStore(pool)
    await transaction(pool, client => store.announce(client, 'key_l'))
    const shown = await eventually(async () => {
      const { body } = await call<WebhookEndpoint>('ana', `GET ${path}/${id}`)
      return body.status === 'disabled' && body
    })
    assert.equal(shown.disabled_reason, 'key of the endpoint was revoked or has expired')
    assert.equal(receiver.accepted.length, 1)
    const entry = await pool.query(
      `select from audit_log where action = 'webhook_endpoint.disable' and object_id = $1`,
      [id],
    )
    assert.equal(entry.rowCount, 1)
    const enabled = await call<WebhookEndpoint>('master', `PATCH ${path}/${id}`, { status: 'active' })
    assert.deepEqual([enabled.body.status, enabled.body.run_as_key_id], ['active', null])
    await eventually(() => receiver.accepted.length === 2)
    assert.deepEqual(
      receiver.accepted.map(each => notified(each).type),
      ['a.first', 'a.second'],
    )
  })
}

test('M3: a change of what is sent sets the key of the endpoint, the master key clears it, and a pause keeps it', async () => {
  await validKey()
  const { id } = await made({ url, owner_id: 'ana' }, 'master')
  const patch = async (caller: 'master' | 'labelled', body: object) =>
    (await call<WebhookEndpoint>(caller, `PATCH ${path}/${id}`, body)).body.run_as_key_id
  assert.equal(await patch('labelled', { description: 'Ours' }), null)
  assert.equal(await patch('labelled', { events: ['session.*'] }), 'key_l')
  assert.equal(await patch('master', { status: 'paused' }), 'key_l')
  assert.equal(await patch('master', { status: 'active' }), 'key_l')
  assert.equal(await patch('master', { url: 'https://example.com/other' }), null)
})
