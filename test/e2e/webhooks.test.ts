import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Delivery, WebhookAcceptance } from '../../src/contract/webhooks.ts'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, type Sent, send } from '../support/service/send.ts'
import { deliveriesOf, secret, startWebhookService } from '../support/triggers/webhooks.ts'

const { database, messagesOf, newAgent, post, service, sessionOf, setSecret } = await startWebhookService()

const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'
const bearer = { authorization: `Bearer ${secret}` }
const withId = (id: string): Sent => ({ headers: { ...bearer, 'webhook-id': id }, body: { hello: 'world' } })
const statusOf = (answer: Answered) => answer.json<WebhookAcceptance>().status

test('Interface: Webhook delivery (new): 202 accepted with a session that holds the payload as one user message', async () => {
  const { id: agent_id } = await newAgent()
  const payload = { action: 'opened', issue: { number: 7, labels: ['a', 'b'] } }
  const answer = await post(agent_id, { headers: { ...bearer, 'x-github-delivery': 'd-1' }, body: payload })
  assert.equal(answer.status, 202, answer.text)
  const { session_id, ...rest } = answer.json<WebhookAcceptance>()
  assert.deepEqual(rest, { status: 'accepted', agent_id, request_id: 'd-1' })
  assert.deepEqual(await messagesOf(session_id), [JSON.stringify(payload, null, 2)])
  const session = await sessionOf(session_id)
  assert.deepEqual([session.title, session.agent_id, session.agent], ['Webhook d-1', agent_id, agent_id])
})

test('Interface: Webhook delivery (seen): 202 duplicate with the first session, and no further prompt', async () => {
  const { id } = await newAgent()
  const first = (await post(id, withId('seen'))).json<WebhookAcceptance>()
  for (const body of [{ hello: 'world' }, { another: 'body' }]) {
    const again = await post(id, { ...withId('seen'), body })
    assert.equal(again.status, 202)
    assert.deepEqual(again.json(), { ...first, status: 'duplicate' })
  }
  assert.equal((await messagesOf(first.session_id)).length, 1)
})

test('Interface: Webhook delivery (in flight): 503 processing with Retry-After, and no second run', async () => {
  const { id: agent_id } = await newAgent()
  const hold = await database.connect()
  try {
    await hold.query('begin')
    await hold.query('lock table sessions in share row exclusive mode')
    const first = post(agent_id, withId('slow'))
    await eventually(async () => (await rowOf(agent_id, 'slow'))?.status === 'processing')
    const meanwhile = await post(agent_id, withId('slow'))
    assert.equal(meanwhile.status, 503, meanwhile.text)
    assert.equal(meanwhile.headers['retry-after'], '5')
    assert.deepEqual(meanwhile.json(), { status: 'processing', agent_id, session_id: '', request_id: 'slow' })
    await hold.query('rollback')
    assert.equal(statusOf(await first), 'accepted')
  } finally {
    hold.release()
  }
  assert.equal(statusOf(await post(agent_id, withId('slow'))), 'duplicate')
  assert.equal(await sessionsOf(agent_id), 1)
})

test('Interface: Authentication, rule 9: the token is the vault entry WEBHOOK_<agent_id>_SECRET, or the one of config.webhook.secret_key', async () => {
  const named = await newAgent({ secret_key: 'MY_HOOK' })
  await setSecret('MY_HOOK', 'another token')
  assert.equal((await post(named.id, withId('a'))).status, 401)
  const headers = { authorization: 'Bearer another token' }
  assert.equal((await post(named.id, { headers, body: {} })).status, 202)
  const byDefault = await newAgent()
  assert.equal((await post(byDefault.id, { headers, body: {} })).status, 401)
  assert.equal((await post(byDefault.id, withId('a'))).status, 202)
})

test('Interface: Events: the webhook emits no event itself; the session reports the run', async () => {
  const { id } = await newAgent()
  const { session_id } = (await post(id, withId('events'))).json<WebhookAcceptance>()
  const types = (await send(service, `GET /v1/sessions/${session_id}/events`)).json<{ data: { type: string }[] }>().data
  assert.equal(types[0]?.type, 'user.message')
  assert.ok(types.every(({ type }) => !type.includes('webhook')))
})

const refused: readonly (readonly [what: string, request: (agent: Agent) => readonly [id: string, sent: Sent]])[] = [
  ['an unknown agent', () => ['agent_nothing', withId('x')]],
  ['an id that is none', () => ['%00', withId('x')]],
  ['no token', ({ id }) => [id, { body: {} }]],
  ['a wrong token', ({ id }) => [id, { headers: { authorization: 'Bearer wrong' }, body: {} }]],
  [
    'the first part of the token',
    ({ id }) => [id, { headers: { authorization: `Bearer ${secret.slice(0, -1)}` }, body: {} }],
  ],
  ['more than the token', ({ id }) => [id, { headers: { authorization: `Bearer ${secret}x` }, body: {} }]],
  [
    'the token in other letters',
    ({ id }) => [id, { headers: { authorization: `Bearer ${secret.toUpperCase()}` }, body: {} }],
  ],
  ['an empty token', ({ id }) => [id, { headers: { authorization: 'Bearer ' }, body: {} }]],
  ['another scheme', ({ id }) => [id, { headers: { authorization: `Basic ${secret}` }, body: {} }]],
  ['the token without a scheme', ({ id }) => [id, { headers: { authorization: secret }, body: {} }]],
  ['two tokens', ({ id }) => [id, { headers: { authorization: [`Bearer ${secret}`, `Bearer ${secret}`] }, body: {} }]],
  ['the token as x-api-key', ({ id }) => [id, { headers: { 'x-api-key': secret }, body: {} }]],
  ['the token in the query', ({ id }) => [`${id}/webhook?key=${secret}#`, { body: {} }]],
  ['the master key', ({ id }) => [id, { headers: { authorization: `Bearer ${service.key}` }, body: {} }]],
  ['the master key as x-api-key', ({ id }) => [id, { headers: { 'x-api-key': service.key }, body: {} }]],
  ['a body that is no JSON, and no token', ({ id }) => [id, { body: '{' }]],
  ['a body of another type, and no token', ({ id }) => [id, { headers: { 'content-type': 'text/plain' }, body: 'x' }]],
]
for (const [what, request] of refused) {
  test(`Gaps: section 11, rule 1: ${what} is the one 401`, async () => {
    const [id, sent] = request(await newAgent())
    const answer = await post(id, sent)
    assert.deepEqual([answer.status, answer.text], [401, unauthorized])
  })
}

test('Gaps: section 11, rule 1: an agent without its vault entry is the same 401, and the log names the entry', async () => {
  const { id } = await newAgent({ secret_key: 'NOT_THERE' })
  const answer = await post(id, withId('x'))
  assert.deepEqual([answer.status, answer.text], [401, unauthorized])
  assert.match(service.logs(), /"vault_entry":"NOT_THERE"/)
})

test('Gaps: section 11, rule 1: the entry of the owner comes before the global one, and other owners do not see it', async () => {
  const made = await send(service, 'POST /api/keys', { body: { label: 'x', owner_id: 'hook-owner' } })
  const ada = { url: service.url, key: made.json<{ key: string }>().key }
  await setSecret('SHARED_NAME', 'global')
  await send(ada, 'POST /api/vault', { body: { key: 'SHARED_NAME', value: 'of the owner', scope: 'owner' } })
  const hers = await newAgent({ secret_key: 'SHARED_NAME' }, { owner_id: 'hook-owner' })
  const others = await newAgent({ secret_key: 'SHARED_NAME' })
  const statusWith = async (id: string, token: string) =>
    (await post(id, { headers: { authorization: `Bearer ${token}` }, body: {} })).status
  assert.deepEqual([await statusWith(hers.id, 'of the owner'), await statusWith(hers.id, 'global')], [202, 401])
  assert.deepEqual([await statusWith(others.id, 'of the owner'), await statusWith(others.id, 'global')], [401, 202])
})

test('S27: a webhook token opens nothing but its own webhook; several secrets in an entry are all live', async () => {
  const { id } = await newAgent()
  for (const line of ['GET /api/agents', `GET /api/agents/${id}`, 'POST /session', 'GET /api/deliveries']) {
    assert.equal((await send({ url: service.url, key: secret }, line)).status, 401, line)
  }
  const other = await newAgent({ secret_key: 'TWO_LIVE' })
  await setSecret('TWO_LIVE', 'old-token\nnew-token\n')
  assert.equal((await post(other.id, withId('x'))).status, 401)
  for (const token of ['old-token', 'new-token'])
    assert.equal((await post(other.id, { headers: { authorization: `Bearer ${token}` }, body: {} })).status, 202)
  const both = await post(other.id, { headers: { authorization: 'Bearer old-token\tnew-token' }, body: {} })
  assert.equal(both.status, 401)
})

test('S26: other content types and encoded bodies are 415; +json, a charset and no type at all are taken', async () => {
  const { id } = await newAgent()
  const statusWith = async (headers: Record<string, string>) =>
    (await post(id, { headers: { ...bearer, ...headers }, body: '{"a":1}' })).status
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/cloudevents+json',
    'APPLICATION/JSON',
  ])
    assert.equal(await statusWith({ 'content-type': type }), 202, type)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/json,text/plain',
  ])
    assert.equal(await statusWith({ 'content-type': type }), 415, type)
  assert.equal(await statusWith({ 'content-encoding': 'gzip' }), 415)
  const untyped = await fetch(`${service.url}/api/agents/${id}/webhook`, {
    method: 'POST',
    headers: bearer,
    body: new Uint8Array(Buffer.from('[1]')),
  })
  assert.equal(untyped.status, 202)
})

test('Gaps: section 11, rule 2: after the token comes 413, then 400 for what is no JSON, before an agent at rest is 409', async () => {
  const { id } = await newAgent()
  await send(service, `POST /api/agents/${id}/pause`)
  const limit = 25 * 1024 * 1024
  const tooLong = await post(id, { headers: bearer, body: Buffer.alloc(limit + 1, ' ') })
  assert.equal(tooLong.status, 413, tooLong.text)
  for (const body of ['{', '', ' ', '{"a":}', Buffer.of(0x22, 0xff, 0x22), '['.repeat(70) + ']'.repeat(70)])
    assert.equal((await post(id, { headers: bearer, body })).status, 400, String(body))
  const paused = await post(id, { headers: bearer, body: {} })
  assert.equal(paused.status, 409, paused.text)
  assert.match(paused.text, /paused/)
  assert.equal(
    (await post(id, { headers: { authorization: 'Bearer x' }, body: Buffer.alloc(limit + 1, ' ') })).status,
    401,
  )
  await send(service, `POST /api/agents/${id}/resume`)
  assert.equal((await post(id, { headers: bearer, body: {} })).status, 202)
  await send(service, `POST /api/agents/${id}/archive`)
  assert.equal((await post(id, { headers: bearer, body: {} })).status, 409)
})

test('Gaps: section 11, rule 2: a body of 25 MB is taken', async () => {
  const { id } = await newAgent()
  const text = 'x'.repeat(25 * 1024 * 1024 - 2)
  const answer = await post(id, { headers: bearer, body: `"${text}"` })
  assert.equal(answer.status, 202, answer.text)
  const { session_id } = answer.json<WebhookAcceptance>()
  const stored = `select octet_length(parts::text) as bytes from prompts where session_id = $1`
  assert.ok((await database.query(stored, [session_id])).rows[0].bytes > text.length)
})

const values = ['null', 'true', '1', '"text"', '[]', '{}', '[1,[2]]', '12345678901234567890', '{"id":1e400}']
for (const value of values) {
  test(`Gaps: section 11, rules 2 and 6: the JSON value ${value} is a message as it was sent, indented`, async () => {
    const { id } = await newAgent()
    const answer = await post(id, { headers: bearer, body: value })
    assert.equal(answer.status, 202, answer.text)
    const [message = ''] = await messagesOf(answer.json<WebhookAcceptance>().session_id)
    assert.equal(message.replaceAll(/\s/g, ''), value)
  })
}

test('Gaps: section 11, rule 6: what the database holds in no text, such as U+0000, arrives as an escape', async () => {
  const { id } = await newAgent()
  const answer = await post(id, { headers: bearer, body: '{"a":"\\u0000\\ud800","__proto__":{"b":1}}' })
  assert.equal(answer.status, 202, answer.text)
  const [message] = await messagesOf(answer.json<WebhookAcceptance>().session_id)
  assert.equal(message, '{\n  "a": "\\u0000\\ud800"\n}')
})

test('Gaps: section 11, rule 4: the delivery id is the first of the known headers, or of the configured one alone', async () => {
  const order = [
    'webhook-id',
    'svix-id',
    'x-github-delivery',
    'linear-delivery',
    'x-gitlab-event-uuid',
    'x-shopify-webhook-id',
    'x-zendesk-webhook-invocation-id',
    'idempotency-key',
    'x-delivery-id',
    'x-request-id',
  ]
  const { id } = await newAgent()
  for (const [at, name] of order.entries()) {
    const headers = Object.fromEntries(order.slice(at).map(later => [later, `by ${later}`]))
    const answer = await post(id, { headers: { ...bearer, ...headers }, body: {} })
    assert.equal(answer.json<WebhookAcceptance>().request_id, `by ${name}`)
  }
  const own = await newAgent({ delivery_id_header: 'X-My-Id' })
  const headers = { ...bearer, 'webhook-id': 'not this', 'x-my-id': 'mine' }
  assert.equal((await post(own.id, { headers, body: {} })).json<WebhookAcceptance>().request_id, 'mine')
  const tooLong = await post(id, { headers: { ...bearer, 'webhook-id': 'x'.repeat(256) }, body: {} })
  assert.equal(tooLong.status, 400)
  assert.match(tooLong.text, /webhook-id/)
})

test('Gaps: section 11, rule 4: without an id each delivery is a new one', async () => {
  const { id } = await newAgent()
  const sent = { headers: bearer, body: {} }
  const [one, other] = [await post(id, sent), await post(id, sent)].map(answer => answer.json<WebhookAcceptance>())
  assert.deepEqual([one?.status, other?.status], ['accepted', 'accepted'])
  assert.notEqual(one?.request_id, other?.request_id)
  assert.notEqual(one?.session_id, other?.session_id)
})

test('Gaps: section 11, rule 5: an id is of one agent; a claim of 60 s is taken over, and seven days later it is forgotten', async () => {
  const [{ id }, { id: other }] = [await newAgent(), await newAgent()]
  const first = (await post(id, withId('shared'))).json<WebhookAcceptance>()
  assert.equal(statusOf(await post(other, withId('shared'))), 'accepted')

  const inFlight = `update webhook_deliveries set status = 'processing', claim = 'dead', claimed_until = clock_timestamp() + $2
    where agent_id = $1`
  await database.query(inFlight, [other, '1 second'])
  assert.equal((await post(other, withId('shared'))).status, 503)
  await database.query(inFlight, [other, '-1 second'])
  assert.equal(statusOf(await post(other, withId('shared'))), 'accepted')

  const age = `update webhook_deliveries set received_at = clock_timestamp() - $2::interval where agent_id = $1`
  await database.query(age, [id, '6 days 23 hours'])
  assert.equal(statusOf(await post(id, withId('shared'))), 'duplicate')
  await database.query(age, [id, '7 days 1 minute'])
  const anew = (await post(id, withId('shared'))).json<WebhookAcceptance>()
  assert.equal(anew.status, 'accepted')
  assert.notEqual(anew.session_id, first.session_id)
})

test('Gaps: section 11, rule 5: a failure frees the id, and leaves neither session nor prompt', async () => {
  const { id } = await newAgent()
  await database.query(`update agents set config = '{"runtime":"gone"}' where id = $1`, [id])
  const failed = await post(id, withId('again'))
  assert.equal(failed.status, 400, failed.text)
  assert.equal(await sessionsOf(id), 0)
  const row = await rowOf(id, 'again')
  assert.equal(row?.status, 'failed')
  assert.match(row?.error ?? '', /runtime "gone"/)
  await database.query(`update agents set config = '{}' where id = $1`, [id])
  assert.equal(statusOf(await post(id, withId('again'))), 'accepted')
  assert.equal((await rowOf(id, 'again'))?.attempts, 2)
})

test('Gaps: section 11, rule 6: the title is cut to 120 characters', async () => {
  const { id } = await newAgent()
  const { session_id } = (await post(id, withId('d'.repeat(255)))).json<WebhookAcceptance>()
  assert.equal((await sessionOf(session_id)).title, `Webhook ${'d'.repeat(112)}`)
})

test('a title is a template, and the environment of the agent is that of the session', async () => {
  const { id } = await newAgent({
    title: ' {{issue.title}}\n',
    environment: { repository: 'https://git.example.com/a/b' },
  })
  const deliver = async (delivery: string, issue: object) => {
    const answer = await post(id, { headers: { ...bearer, 'webhook-id': delivery }, body: { issue } })
    return sessionOf(answer.json<WebhookAcceptance>().session_id)
  }
  const { title, environment } = await deliver('t-1', {
    title: 'The door\n squeaks',
    repository: 'https://evil.example',
  })
  assert.equal(title, 'The door squeaks')
  assert.deepEqual([environment['repository'], environment['source']], ['https://git.example.com/a/b', 'webhook'])
  assert.equal((await deliver('t-2', {})).title, 'Webhook t-2')
})

test('a wrong repository of a webhook is rejected when the agent is written, with its field', async () => {
  for (const [environment, message] of [
    [{ repository: 'ssh://git@github.com/a/b' }, /config\.webhook\.environment\.repository must/],
    [{ repository: 'https://github.com/a/b', ref: '-x' }, /config\.webhook\.environment\.ref must/],
    [{ repository: 'https://github.com/a/b', branch: 'x' }, /config\.webhook\.environment.*branch/],
  ] as const) {
    const body = { name: 'Hooked', owner_id: 'team', config: { webhook: { environment } } }
    const answer = await send(service, 'POST /api/agents', { body })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text.replaceAll('\\', ''), message)
  }
})

test('Gaps: section 5: the environment of the session has the source of the delivery', async () => {
  const { id } = await newAgent()
  const headers = { ...bearer, 'webhook-id': 'env', 'user-agent': 'Sender/1', 'content-type': 'application/vnd.x+json' }
  const { session_id } = (await post(id, { headers, body: '{}' })).json<WebhookAcceptance>()
  assert.deepEqual((await sessionOf(session_id)).environment, {
    source: 'webhook',
    request_id: 'env',
    content_type: 'application/vnd.x+json',
    user_agent: 'Sender/1',
  })
})

test('400 parallel deliveries of one id are one session and one prompt', async () => {
  const { id } = await newAgent()
  const answers = await Promise.all(Array.from({ length: 400 }, () => post(id, withId('storm'))))
  const counted = Object.groupBy(answers, answer => `${answer.status} ${statusOf(answer)}`)
  assert.equal(counted['202 accepted']?.length, 1)
  const { '202 accepted': _a, '202 duplicate': duplicate = [], '503 processing': processing = [], ...others } = counted
  assert.deepEqual(Object.keys(others), [])
  assert.equal(duplicate.length + processing.length, 399)
  const sessions = new Set(duplicate.map(answer => answer.json<WebhookAcceptance>().session_id))
  assert.ok(sessions.size <= 1)
  assert.equal(await sessionsOf(id), 1)
})

test('rpm_limit: more deliveries a minute are 429 with Retry-After; a repeat of one that was taken is no new one', async () => {
  const { id } = await newAgent({ rpm_limit: 2 })
  assert.deepEqual([(await post(id, withId('1'))).status, (await post(id, withId('2'))).status], [202, 202])
  const third = await post(id, withId('3'))
  assert.equal(third.status, 429)
  assert.ok(third.headers['retry-after'])
  assert.equal(statusOf(await post(id, withId('2'))), 'duplicate')
})

async function rowOf(agentId: string, requestId: string): Promise<Delivery | undefined> {
  const list = await send(service, `GET /api/deliveries?agent_id=${agentId}&request_id=${requestId}`)
  return deliveriesOf(list)[0]
}

async function sessionsOf(agentId: string): Promise<number> {
  const { rows } = await database.query('select count(*) as sessions from sessions where agent_id = $1', [agentId])
  return rows[0].sessions
}
