import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer as createReceiver, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freshDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { EndpointDelivery, EndpointTestResult, ShownEndpoint } from '../../contract/webhook-endpoints.ts'
import { agentStore } from '../agents/store.ts'
import { createAudit } from '../audit/audit.ts'
import { auditStore } from '../audit/store.ts'
import { createNotifications } from '../db/notifications.ts'
import { createRowSealer } from '../db/sealed-rows.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { newId } from '../platform/ids.ts'
import { createLog } from '../platform/log.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createKeyring, createSealer } from '../platform/seal.ts'
import { eventStore, withId } from '../sessions/event-store.ts'
import { sessionStore } from '../sessions/session-store.ts'
import { createDelivery } from './delivery.ts'
import { deliveryStore } from './delivery-store.ts'
import { endpointStore } from './endpoint-store.ts'
import { createEndpoints } from './endpoints.ts'
import { createDispatch } from './message.ts'
import { serveWebhookEndpoints } from './routes.ts'
import { createSend } from './send.ts'

const { pool, db, url: databaseUrl } = await freshDatabase()
const log = createLog('silent')
const keyring = createKeyring([randomBytes(32)])
const callers = {
  master: masterCaller,
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Status and body of an answer; `hang` never answers. */
type Answer = number | 'hang' | { readonly status: number; readonly body?: string; readonly location?: string }

/** A receiver that keeps what it took with a 2xx, in order. */
async function startReceiver(answer: (received: Received, count: number) => Answer = () => 200) {
  const taken: Received[] = []
  const asked: Received[] = []
  const server = createReceiver(async (request, response) => {
    const received = { headers: request.headers, text: (await buffer(request)).toString() }
    asked.push(received)
    const said = answer(received, asked.length)
    if (said === 'hang') return
    const { status, body = '', location } = typeof said === 'number' ? { status: said } : said
    if (status < 300) taken.push(received)
    response.writeHead(status, location === undefined ? {} : { location }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  allowed.add(host)
  return { url: `http://${host}/hook`, host, taken, asked }
}

const allowed = new Set<string>()
const outbound = () => createOutbound({ allow: [...allowed] })
const agents = agentStore(db)
const endpointRows = endpointStore(pool)
const deliveries = deliveryStore(pool)
const audit = createAudit(auditStore(db))
const sealer = createRowSealer(keyring, 'webhook_endpoint_secrets')
const send = createSend({ connect: ms => outbound().connect(ms) }, 500)
const dispatch = createDispatch({ store: endpointRows, sealer, send, log })
const endpoints = createEndpoints({
  store: endpointRows,
  deliveries,
  agents,
  dispatch,
  sealer,
  answerSealer: createSealer(keyring, 'idempotency'),
  outbound,
  audit,
})
const app = createServer({
  authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
  log,
  translateError: thrown => thrown,
})
serveWebhookEndpoints(app, { endpoints })

/** A replica's deliveries; stopped with the test. */
async function startReplica(
  t: TestContext,
  { retryMs = [50, 50, 50], failingMs = 60_000 }: { retryMs?: readonly number[]; failingMs?: number } = {},
) {
  const notifications = createNotifications({ connectionString: databaseUrl }, log)
  const parts = { store: deliveries, endpoints: endpointRows, dispatch, notifications, audit, log }
  const replica = createDelivery({ ...parts, retryMs, failingMs })
  await notifications.start(newId('run'))
  replica.start()
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await replica.stop()
    await notifications.stop()
  }
  t.after(stop)
  return { stop }
}

async function call<T = Record<string, unknown>>(caller: Name, line: string, payload?: object, headers = {}) {
  const [method, url = ''] = line.split(' ')
  const answer = await app.inject({
    method: method as 'GET',
    url,
    headers: { 'x-api-key': caller, ...headers },
    ...(payload && { payload }),
  })
  return { status: answer.statusCode, body: answer.json() as T, text: answer.body }
}

async function made(write: object, caller: Name = 'ana'): Promise<ShownEndpoint> {
  await pool.query('delete from webhook_endpoints')
  const answer = await call<ShownEndpoint>(caller, 'POST /api/webhook-endpoints', write)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

async function newSession(owner_id = 'ana', agent_id = ''): Promise<string> {
  const id = newId('ses')
  const fields = { owner_id, agent_id, title: 's', agent: agent_id, agent_version: null, timezone: null }
  await sessionStore(pool).insert(pool, { id, ...fields, harness: 'builtin', runtime: 'builtin', environment: {} })
  return id
}
const events = eventStore(pool)
const append = async (sessionId: string, ...types: string[]) =>
  (await events.append(
    sessionId,
    types.map(type => withId({ type, note: `note of ${type}` })),
  )) ?? []

interface Told {
  readonly type: string
  readonly timestamp: string
  readonly data: { session_id: string; agent_id: string; event: { id: string; seq: number; type: string } }
}
const told = ({ text }: Received): Told => JSON.parse(text)
const seqs = (received: readonly Received[], sessionId: string) =>
  received.filter(each => told(each).data.session_id === sessionId).map(each => told(each).data.event.seq)
const deliveriesOf = async (id: string, query = '') =>
  (await call<{ deliveries: EndpointDelivery[] }>('ana', `GET /api/webhook-endpoints/${id}/deliveries${query}`)).body
    .deliveries

test('events go to the receiver in order, and the library of Standard Webhooks verifies each of them as it came', async t => {
  const receiver = await startReceiver()
  const { id, secret } = await made({ url: receiver.url })
  await startReplica(t)
  const session = await newSession()
  const stored = [
    ...(await append(session, 'user.message', 'session.status_running')),
    ...(await append(session, 'session.status_idle')),
  ]
  await eventually(() => receiver.taken.length === 3)
  const hook = new Webhook(secret)
  for (const [at, { headers, text }] of receiver.taken.entries()) {
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
    // Every third event fails once, besides.
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
  await eventually(() => receiver.asked.length > 5)
  isAway = false
  await eventually(() => receiver.taken.length >= 40, { withinMs: 20_000 })
  for (const session of sessions) assert.deepEqual(seqs(receiver.taken, session), [1, 2, 3, 4, 5, 6, 7, 8])
  await eventually(async () => (await deliveriesOf(id, '?state=delivered&limit=200')).length === 40)
})

test('an event that is given up is dead, and the next one follows; a replay sends it again under its id', async t => {
  let isHealed = false
  const receiver = await startReceiver(({ text }) => (text.includes('a.bad') && !isHealed ? 500 : 200))
  const { id } = await made({ url: receiver.url })
  await startReplica(t, { retryMs: [10, 10] })
  const session = await newSession()
  const [bad] = await append(session, 'a.bad', 'a.good')
  await eventually(() => receiver.taken.length === 1)
  assert.deepEqual(seqs(receiver.asked, session), [1, 1, 1, 2])
  const [dead] = await deliveriesOf(id, '?state=dead')
  assert.deepEqual(
    [dead?.seq, dead?.attempts, dead?.http_status, dead?.error, dead?.event_id],
    [1, 3, 500, 'the receiver answered with status 500', bad?.id],
  )
  const line = `POST /api/webhook-endpoints/${id}/deliveries/${dead?.id}/replay`
  const failed = await call<EndpointDelivery>('ana', line)
  assert.deepEqual([failed.status, failed.body.state, failed.body.attempts], [200, 'dead', 4])
  isHealed = true
  const healed = await call<EndpointDelivery>('ana', line)
  assert.deepEqual([healed.body.state, healed.body.attempts, healed.body.error], ['delivered', 5, null])
  assert.equal(receiver.taken.at(-1)?.headers['webhook-id'], bad?.id)
})

test('what happened while no server ran, and no hint told of, is sent after the next start, once', async t => {
  const receiver = await startReceiver()
  await made({ url: receiver.url })
  const session = await newSession()
  const first = await startReplica(t)
  await append(session, 'a.one')
  await eventually(() => receiver.taken.length === 1)
  await first.stop()
  await append(session, 'a.two', 'a.three')
  await startReplica(t)
  await eventually(() => receiver.taken.length === 3)
  assert.deepEqual(seqs(receiver.taken, session), [1, 2, 3])
})

test('an endpoint gets nothing from before it was made', async t => {
  const receiver = await startReceiver()
  const session = await newSession()
  await append(session, 'a.old', 'a.older')
  await made({ url: receiver.url })
  await startReplica(t)
  await append(session, 'a.new')
  await eventually(() => receiver.taken.length === 1)
  assert.deepEqual(seqs(receiver.asked, session), [3])
})

test('filters: types, prefixes and agents; S10: sessions of another owner are never told of', async t => {
  const receiver = await startReceiver()
  const agent = newId('agent')
  const fields = { name: 'A', model: 'demo', system: '', description: null, harness: 'builtin', tools: {}, config: {} }
  await agents.insert({ id: agent, owner_id: 'ana', ...fields } as never, undefined, async () => undefined)
  await made({ url: receiver.url, events: ['session.*', 'a.wanted'], agent_ids: [agent] })
  await startReplica(t)
  const [mine, other, foreign] = [await newSession('ana', agent), await newSession(), await newSession('bo', agent)]
  for (const session of [mine, other, foreign])
    await append(session, 'a.unwanted', 'session.status_idle', 'sessionxstatus', 'a.wanted')
  await eventually(() => receiver.taken.length === 2)
  await append(mine, 'session.deleted')
  await eventually(() => receiver.taken.length === 3)
  assert.deepEqual(
    receiver.asked.map(each => [told(each).type, told(each).data.session_id]),
    [
      ['session.status_idle', mine],
      ['a.wanted', mine],
      ['session.deleted', mine],
    ],
  )
})

test("an endpoint of the master key hears of every owner's sessions", async t => {
  const receiver = await startReceiver()
  const { owner_id } = await made({ url: receiver.url }, 'master')
  assert.equal(owner_id, null)
  await startReplica(t)
  await append(await newSession('ana'), 'a.one')
  await append(await newSession('bo'), 'a.two')
  await eventually(() => receiver.taken.length === 2)
})

test('a paused endpoint gets what happened meanwhile once it is active again', async t => {
  const receiver = await startReceiver()
  const { id } = await made({ url: receiver.url })
  await startReplica(t)
  const session = await newSession()
  await append(session, 'a.one')
  await eventually(() => receiver.taken.length === 1)
  await call('ana', `PATCH /api/webhook-endpoints/${id}`, { status: 'paused' })
  await append(session, 'a.two')
  const other = await newSession()
  await append(other, 'a.other')
  await pool.query(`update sessions set updated_at = updated_at - interval '1 hour'`)
  await pool.query(`update webhook_endpoints set created_at = created_at - interval '2 hours'`)
  assert.equal(receiver.asked.length, 1)
  await call('ana', `PATCH /api/webhook-endpoints/${id}`, { status: 'active' })
  // Sessions of the tests before count as its own by now, too.
  await eventually(() => seqs(receiver.taken, session).length > 1 && seqs(receiver.taken, other).length > 0)
  assert.deepEqual([seqs(receiver.taken, session), seqs(receiver.taken, other)], [[1, 2], [1]])
})

const disabling = [
  ['410 disables it at once', 410, 60_000, /gone/],
  ['a long failure disables it', 500, -1, /too long/],
] as const
for (const [guarantee, status, failingMs, reason] of disabling) {
  test(`${guarantee}, with the reason and an audit row; made active it goes on where it stopped`, async t => {
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
    await eventually(() => receiver.taken.length === 2)
    assert.deepEqual(seqs(receiver.taken, session), [1, 2])
  })
}

const refusedUrls = [
  ['http://127.0.0.1:9/hook', /^url is refused: .*outbound.allow/],
  ['https://localhost/hook', /^url is refused/],
  ['https://[::1]/hook', /^url is refused/],
  ['https://169.254.169.254/latest', /^url is refused/],
  ['http://example.com/hook', /^url must start with https/],
  ['https://user:pass@example.com/', /^url is refused/],
  ['ftp://example.com/', /^url is refused/],
  ['no address', /^url is refused/],
  ['', /^url must/],
] as const
for (const [url, message] of refusedUrls) {
  test(`S29: the address ${JSON.stringify(url)} is refused with 400, and the field is named`, async () => {
    const { id } = await made({ url: 'https://example.com/hook' })
    for (const line of ['POST /api/webhook-endpoints', `PATCH /api/webhook-endpoints/${id}`]) {
      const answer = await call<{ error: { message: string } }>('ana', line, { url })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.error.message, message)
    }
  })
}

test('S29: a name that resolves to loopback is refused when it is connected to', async () => {
  const receiver = await startReceiver()
  const guard = createOutbound({
    allow: [],
    lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  const { port } = new URL(receiver.url)
  const { isDelivered, error } = await createSend(guard)({
    url: `http://inner.example:${port}/`,
    headers: {},
    body: '{}',
  })
  assert.equal(isDelivered, false)
  assert.match(error ?? '', /not a public address/)
  assert.equal(receiver.asked.length, 0)
})

const canary = 'words-of-the-receiver'
const answers: readonly (readonly [string, Answer, RegExp, number | null])[] = [
  ['a redirect is not followed', { status: 302, location: '/elsewhere', body: canary }, /redirect/, 302],
  ['an error', { status: 500, body: canary }, /^the receiver answered with status 500$/, 500],
  ['no answer', 'hang', /^no whole answer within 0.5 s$/, null],
]
for (const [guarantee, answer, error, status] of answers) {
  test(`S29: POST /test, ${guarantee}: told by its status, without the words of the receiver`, async () => {
    const receiver = await startReceiver(() => answer)
    const { id } = await made({ url: receiver.url })
    const sent = await call<EndpointTestResult>('ana', `POST /api/webhook-endpoints/${id}/test`)
    assert.deepEqual([sent.status, sent.body.ok, sent.body.http_status], [200, false, status], sent.text)
    assert.match(sent.body.error ?? '', error)
    assert.ok(!sent.text.includes(canary))
    assert.equal(receiver.asked.length, 1)
  })
}

test('POST /test sends a signed message that names the endpoint; a long answer is no failure', async () => {
  const receiver = await startReceiver(() => ({ status: 200, body: 'x'.repeat(1_000_000) }))
  const { id, secret } = await made({ url: receiver.url })
  const sent = await call<EndpointTestResult>('ana', `POST /api/webhook-endpoints/${id}/test`)
  assert.deepEqual([sent.body.ok, sent.body.http_status, sent.body.error], [true, 200, null])
  const [message] = receiver.asked
  const verified = new Webhook(secret).verify(message?.text ?? '', message?.headers as Record<string, string>) as Told
  assert.deepEqual([verified.type, verified.data], ['webhook.test', { endpoint_id: id }])
})

test('S28: after a rotation both secrets verify for the time of grace, then the new one alone', async () => {
  const receiver = await startReceiver()
  const { id, secret } = await made({ url: receiver.url })
  const path = `/api/webhook-endpoints/${id}`
  const verifies = async (key: string) => {
    await call('ana', `POST ${path}/test`)
    const { text = '', headers = {} } = receiver.asked.at(-1) ?? {}
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

test('the audit log tells where an endpoint points without the path, which may be a secret', async () => {
  const { id } = await made({ url: 'https://example.com/hooks/canary-token' })
  const { rows } = await pool.query('select after from audit_log where object_id = $1', [id])
  assert.match(JSON.stringify(rows), /https:..example[.]com/)
  assert.doesNotMatch(JSON.stringify(rows), /canary-token/)
})

test('a secret is shown once, sealed in the database, and the same in a repeat under an Idempotency-Key', async () => {
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
  test(`POST refuses ${JSON.stringify(write)} with 400 and names the field`, async () => {
    const body = { url: 'https://example.com/hook', ...write }
    const answer = await call<{ error: { message: string } }>('ana', 'POST /api/webhook-endpoints', body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.error.message, message)
  })
}
