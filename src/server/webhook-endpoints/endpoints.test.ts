import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startWebhookEndpointsApp } from '../../../test/support/triggers/webhook-endpoints-app.ts'
import type { ShownEndpoint } from '../../contract/webhook-endpoints.ts'
import { newId } from '../platform/ids.ts'

const { pool, call, startReceiver, made } = await startWebhookEndpointsApp()

test('S28: after a rotation both secrets verify for the grace period, then only the new one', async () => {
  const receiver = await startReceiver()
  const { id, secret } = await made({ url: receiver.url })
  const path = `/api/webhook-endpoints/${id}`
  const verifies = async (key: string) => {
    await call('ana', `POST ${path}/test`)
    const { text = '', headers = {} } = receiver.requests.at(-1) ?? {}
    try {
      return new Webhook(key).verify(text, headers as Record<string, string>) !== undefined
    } catch {
      return false
    }
  }
  const second = (await call<ShownEndpoint>('ana', `POST ${path}/rotate`)).body.secret
  assert.deepEqual([await verifies(secret), await verifies(second)], [true, true])
  const third = (await call<ShownEndpoint>('ana', `POST ${path}/rotate`, { grace: '0s' })).body.secret
  assert.deepEqual([await verifies(secret), await verifies(second), await verifies(third)], [false, false, true])
  assert.equal((await call('ana', `POST ${path}/rotate`, { grace: 'soon' })).status, 400)
})

test('the audit log records the origin of an endpoint, not the path, which may be a secret', async () => {
  const { id } = await made({ url: 'https://example.com/hooks/canary-token' })
  const { rows } = await pool.query('select after from audit_log where object_id = $1', [id])
  assert.match(JSON.stringify(rows), /https:..example[.]com/)
  assert.doesNotMatch(JSON.stringify(rows), /canary-token/)
})

test('a secret is returned once, encrypted in the database, and returned again for the same Idempotency-Key', async () => {
  const headers = { 'idempotency-key': newId('req') }
  const body = { url: 'https://example.com/hook' }
  const first = await call<ShownEndpoint>('ana', 'POST /api/webhook-endpoints', body, headers)
  const again = await call<ShownEndpoint>('ana', 'POST /api/webhook-endpoints', body, headers)
  assert.match(first.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(again.body, first.body)
  const { id, secret } = first.body
  const shown = await call('ana', `GET /api/webhook-endpoints/${id}`)
  const listed = await call('ana', 'GET /api/webhook-endpoints')
  for (const { text } of [shown, listed]) assert.ok(!text.includes('whsec_'))
  for (const table of ['webhook_endpoints', 'webhook_endpoint_secrets', 'idempotency_keys', 'audit_log']) {
    const { rows } = await pool.query(`select t::text as row, row_to_json(t)::text as json from ${table} t`)
    const text = JSON.stringify(rows)
    for (const form of [secret, secret.slice(6), Buffer.from(secret).toString('hex')])
      assert.ok(!text.includes(form), table)
  }
})

test("S10: another owner's endpoint is 404 on every route; another owner's agent is 404", async () => {
  const { id } = await made({ url: 'https://example.com/hook' })
  const path = `/api/webhook-endpoints/${id}`
  const gone = { error: { type: 'gateway_error', message: `webhook endpoint ${id} not found` } }
  for (const line of [
    `GET ${path}`,
    `PATCH ${path}`,
    `DELETE ${path}`,
    `POST ${path}/rotate`,
    `POST ${path}/test`,
    `GET ${path}/deliveries`,
    `POST ${path}/deliveries/whd_1/replay`,
  ]) {
    const answer = await call('bo', line, line.startsWith('PATCH') ? { description: 'mine' } : undefined)
    assert.deepEqual([answer.status, answer.body], [404, gone], line)
  }
  const ofMaster = await call<ShownEndpoint>('master', 'POST /api/webhook-endpoints', {
    url: 'https://example.com/all',
  })
  assert.equal((await call('bo', `GET /api/webhook-endpoints/${ofMaster.body.id}`)).status, 404)
  assert.deepEqual((await call('bo', 'GET /api/webhook-endpoints')).body['endpoints'], [])
  const foreign = { url: 'https://example.com/hook', agent_ids: ['agent_nobodys'] }
  assert.equal((await call('bo', 'POST /api/webhook-endpoints', foreign)).status, 404)
})

for (const [write, message] of [
  [{ events: ['Session.Idle'] }, /^events\[0\] must/],
  [{ events: 'all' }, /^events must/],
  [{ status: 'disabled' }, /^status must/],
  [{ agent_ids: [''] }, /^agent_ids\[0\] must/],
  [{ description: 7 }, /^description must/],
] as const) {
  test(`POST rejects ${JSON.stringify(write)} with 400 and names the field`, async () => {
    const body = { url: 'https://example.com/hook', ...write }
    const answer = await call<{ error: { message: string } }>('ana', 'POST /api/webhook-endpoints', body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.error.message, message)
  })
}
