import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { eventually } from '../../../test/support/service/eventually.ts'
import { looseEvent } from '../../../test/support/sessions/loose-event.ts'
import { notified, seqs, startWebhookEndpointsApp } from '../../../test/support/triggers/webhook-endpoints-app.ts'
import type { EndpointDelivery } from '../../contract/webhook-endpoints.ts'

const app = await startWebhookEndpointsApp()
const { pool, call, startReceiver, startReplica, made, newAgent, newSession, append, deliveriesOf } = app

test('events are delivered in order, and the Standard Webhooks library verifies each of them', async t => {
  const receiver = await startReceiver()
  const { id, secret } = await made({ url: receiver.url })
  await startReplica(t)
  const session = await newSession()
  const stored = [
    ...(await append(session, 'user.message', 'session.status_running')),
    ...(await append(session, 'session.status_idle')),
  ]
  await eventually(() => receiver.accepted.length === 3)
  const hook = new Webhook(secret)
  for (const [at, { headers, text }] of receiver.accepted.entries()) {
    const event = stored[at]
    const message = hook.verify(text, headers as Record<string, string>)
    assert.deepEqual(message, {
      type: event?.type,
      timestamp: event?.processed_at,
      data: { session_id: session, agent_id: '', event },
    })
    assert.equal(headers['webhook-id'], event?.id)
    assert.equal(headers['content-type'], 'application/json')
  }
  const log = await eventually(async () => {
    const rows = await deliveriesOf(id)
    return rows.length === 3 && rows
  })
  assert.deepEqual(
    log.map(({ seq, state, attempts, http_status, error }) => [seq, state, attempts, http_status, error]),
    [3, 2, 1].map(seq => [seq, 'delivered', 1, 200, null]),
  )
})

test('a receiver that fails and recovers gets every event of every session, each session in order', async t => {
  const failing = new Set<string>()
  let isAway = true
  const receiver = await startReceiver(({ headers }) => {
    const id = String(headers['webhook-id'])
    // Every third event also fails once.
    if (isAway || (Number.parseInt(id.slice(-2), 16) % 3 === 0 && !failing.has(id))) {
      failing.add(id)
      return 500
    }
    return 204
  })
  const { id } = await made({ url: receiver.url })
  await startReplica(t, { retryMs: Array.from({ length: 100 }, () => 20) })
  await startReplica(t, { retryMs: Array.from({ length: 100 }, () => 20) })
  const sessions = await Promise.all(Array.from({ length: 5 }, () => newSession()))
  for (let round = 0; round < 4; round++) for (const session of sessions) await append(session, 'a.one', 'a.two')
  await eventually(() => receiver.requests.length > 5)
  isAway = false
  await eventually(() => receiver.accepted.length >= 40)
  for (const session of sessions) assert.deepEqual(seqs(receiver.accepted, session), [1, 2, 3, 4, 5, 6, 7, 8])
  await eventually(async () => (await deliveriesOf(id, '?state=delivered&limit=200')).length === 40)
})

test('an event is dead after its last attempt, the next one follows, and a replay sends it again under its id', async t => {
  let isHealed = false
  const receiver = await startReceiver(({ text }) => (text.includes('a.bad') && !isHealed ? 500 : 200))
  const { id } = await made({ url: receiver.url })
  await startReplica(t, { retryMs: [10, 10] })
  const session = await newSession()
  const [bad] = await append(session, 'a.bad', 'a.good')
  await eventually(() => receiver.accepted.length === 1)
  assert.deepEqual(seqs(receiver.requests, session), [1, 1, 1, 2])
  const [dead] = await deliveriesOf(id, '?state=dead')
  assert.deepEqual(
    [dead?.seq, dead?.attempts, dead?.http_status, dead?.error, dead?.event_id],
    [1, 3, 500, 'receiver returned status 500', bad?.id],
  )
  const line = `POST /api/webhook-endpoints/${id}/deliveries/${dead?.id}/replay`
  const failed = await call<EndpointDelivery>('ana', line)
  assert.deepEqual([failed.status, failed.body.state, failed.body.attempts], [200, 'dead', 4])
  isHealed = true
  const healed = await call<EndpointDelivery>('ana', line)
  assert.deepEqual([healed.body.state, healed.body.attempts, healed.body.error], ['delivered', 5, null])
  assert.equal(receiver.accepted.at(-1)?.headers['webhook-id'], bad?.id)
})

test('events without a notification while no server ran are sent once after the next start', async t => {
  const receiver = await startReceiver()
  await made({ url: receiver.url })
  const session = await newSession()
  const first = await startReplica(t)
  await append(session, 'a.one')
  await eventually(() => receiver.accepted.length === 1)
  await first.stop()
  await append(session, 'a.two', 'a.three')
  await startReplica(t)
  await eventually(() => receiver.accepted.length === 3)
  assert.deepEqual(seqs(receiver.accepted, session), [1, 2, 3])
})

test('an endpoint does not get events from before its creation', async t => {
  const receiver = await startReceiver()
  const session = await newSession()
  await append(session, 'a.old', 'a.older')
  await made({ url: receiver.url })
  await startReplica(t)
  await append(session, 'a.new')
  await eventually(() => receiver.accepted.length === 1)
  assert.deepEqual(seqs(receiver.requests, session), [3])
})

test('filters select types, prefixes and agents; S10: sessions of another owner are never sent', async t => {
  const receiver = await startReceiver()
  const agent = await newAgent()
  await made({ url: receiver.url, events: ['session.*', 'a.wanted'], agent_ids: [agent] })
  await startReplica(t)
  const [mine, other, foreign] = [await newSession('ana', agent), await newSession(), await newSession('bo', agent)]
  for (const session of [mine, other, foreign])
    await append(session, 'a.unwanted', 'session.status_idle', 'sessionxstatus', 'a.wanted')
  await eventually(() => receiver.accepted.length === 2)
  await append(mine, 'session.deleted')
  await eventually(() => receiver.accepted.length === 3)
  assert.deepEqual(
    receiver.requests.map(each => [notified(each).type, notified(each).data.session_id]),
    [
      ['session.status_idle', mine],
      ['a.wanted', mine],
      ['session.deleted', mine],
    ],
  )
})

test('C1: an error of a retried model call is not sent, and the final error is', async t => {
  const error = (type: string) =>
    looseEvent({ type: 'session.error', error: { message: 'a\u0000b', retry_status: { type } } })
  for (const events of [[], ['session.error', 'a.last'], ['session.*', 'a.last']]) {
    const receiver = await startReceiver()
    await made({ url: receiver.url, events })
    // The next round deletes the endpoint, which must not happen during a delivery.
    const { stop } = await startReplica(t)
    const session = await newSession()
    await append(session, error('retrying'), error('retrying'), error('exhausted'), 'a.last')
    await eventually(() => receiver.accepted.length === 2)
    assert.deepEqual(seqs(receiver.requests, session), [3, 4])
    await stop()
  }
})

test("an endpoint of the master key gets the events of every owner's sessions", async t => {
  const receiver = await startReceiver()
  const { owner_id } = await made({ url: receiver.url }, 'master')
  assert.equal(owner_id, null)
  await startReplica(t)
  await append(await newSession('ana'), 'a.one')
  await append(await newSession('bo'), 'a.two')
  await eventually(() => receiver.accepted.length === 2)
})

test('a paused endpoint gets the events of the pause once it is active again', async t => {
  const receiver = await startReceiver()
  const { id } = await made({ url: receiver.url })
  await startReplica(t)
  const session = await newSession()
  await append(session, 'a.one')
  await eventually(() => receiver.accepted.length === 1)
  await call('ana', `PATCH /api/webhook-endpoints/${id}`, { status: 'paused' })
  await append(session, 'a.two')
  const other = await newSession()
  await append(other, 'a.other')
  await pool.query(`update sessions set updated_at = updated_at - interval '1 hour'`)
  await pool.query(`update webhook_endpoints set created_at = created_at - interval '2 hours'`)
  assert.equal(receiver.requests.length, 1)
  await call('ana', `PATCH /api/webhook-endpoints/${id}`, { status: 'active' })
  // Sessions of earlier tests are included by now.
  await eventually(() => seqs(receiver.accepted, session).length > 1 && seqs(receiver.accepted, other).length > 0)
  assert.deepEqual([seqs(receiver.accepted, session), seqs(receiver.accepted, other)], [[1, 2], [1]])
})

const disabling = [
  ['410 disables it at once', 410, 60_000, /gone/],
  ['a long failure disables it', 500, -1, /too long/],
] as const
for (const [guarantee, status, failingMs, reason] of disabling) {
  test(`${guarantee}, with the reason and an audit row; once active again it continues where it stopped`, async t => {
    let isHealed = false
    const receiver = await startReceiver(() => (isHealed ? 200 : status))
    const { id } = await made({ url: receiver.url })
    await startReplica(t, { failingMs })
    const session = await newSession()
    await append(session, 'a.one', 'a.two')
    const path = `/api/webhook-endpoints/${id}`
    const disabled = await eventually(async () => {
      const { body } = await call('ana', `GET ${path}`)
      return body['status'] === 'disabled' && body
    })
    assert.match(String(disabled['disabled_reason']), reason)
    const { rows } = await pool.query(
      `select principal from audit_log where object_id = $1 and action = 'webhook_endpoint.disable'`,
      [id],
    )
    assert.deepEqual(rows, [{ principal: 'service' }])
    isHealed = true
    const enabled = await call('ana', `PATCH ${path}`, { status: 'active' })
    assert.deepEqual([enabled.body['disabled_reason'], enabled.body['failing_since']], [null, null])
    await eventually(() => receiver.accepted.length === 2)
    assert.deepEqual(seqs(receiver.accepted, session), [1, 2])
  })
}
