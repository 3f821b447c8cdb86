import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookCount } from '../../src/contract/webhook-counts.ts'
import type {
  Delivery,
  DeliveryDetail,
  DeliveryPreview,
  WebhookAcceptance,
  WebhookConfig,
} from '../../src/contract/webhooks.ts'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, send } from '../support/service/send.ts'
import { deliveriesOf, secret, startWebhookService } from '../support/triggers/webhooks.ts'

const { database, messagesOf, newAgent, post, service } = await startWebhookService()

const bearer = { authorization: `Bearer ${secret}` }
const deliver = async (id: string, body: unknown, headers: Record<string, string> = {}): Promise<WebhookAcceptance> => {
  const answer = await post(id, { headers: { ...bearer, ...headers }, body })
  assert.equal(answer.status, 202, answer.text)
  return answer.json<WebhookAcceptance>()
}
const list = async (query: string): Promise<Delivery[]> =>
  deliveriesOf(await send(service, `GET /api/deliveries?${query}`))
const detail = async (id: string) => (await send(service, `GET /api/deliveries/${id}`)).json<DeliveryDetail>()
const messageOf = (answer: Answered) => answer.json<{ error: { message: string } }>().error.message

test('events: what the filter leaves out is accepted without a session, and the log reports why', async () => {
  const { id } = await newAgent({ events: ['issues.opened', { field: 'sender.type', not_in: ['Bot'] }] })
  const event = { 'x-github-event': 'issues' }
  const taken = await deliver(
    id,
    { action: 'opened', sender: { type: 'User' } },
    { ...event, 'x-github-delivery': '1' },
  )
  assert.match(taken.session_id, /^ses_/)
  for (const [at, body] of [
    { action: 'closed', sender: { type: 'User' } },
    { action: 'opened', sender: { type: 'Bot' } },
  ].entries()) {
    const name = { 'x-github-delivery': `out-${at}` }
    const left = await deliver(id, body, { ...event, ...name })
    assert.deepEqual([left.status, left.session_id], ['accepted', ''])
    assert.equal((await deliver(id, body, { ...event, ...name })).status, 'duplicate')
  }
  const skipped = await list(`agent_id=${id}&status=skipped`)
  assert.deepEqual(
    skipped.map(({ event, error }) => [event, error]),
    [
      ['issues.opened', 'field sender.type does not meet its condition'],
      ['issues.closed', 'event "issues.closed"; accepted: issues.opened'],
    ],
  )
})

test('requests that the log does not have are counted by their cause', async () => {
  const { id } = await newAgent({ rpm_limit: 1 })
  const body = { n: 1 }
  await deliver(id, body, { 'x-request-id': 'a' })
  await deliver(id, body, { 'x-request-id': 'a' })
  for (const headers of [{ authorization: 'Bearer wrong' }, {}, { ...bearer, 'x-request-id': 'b' }])
    await post(id, { headers, body })
  const counted = async (query: string): Promise<WebhookCount[]> =>
    (await send(service, `GET /api/deliveries/counts?${query}`)).json<{ counts: WebhookCount[] }>().counts
  await eventually(async () => (await counted(`agent_id=${id}`)).length === 3, { what: 'three counts' })
  assert.deepEqual(
    (await counted(`agent_id=${id}`)).map(({ kind, count }) => [kind, count]),
    [
      ['invalid_token', 2],
      ['duplicate', 1],
      ['rate_limited', 1],
    ],
  )
  assert.deepEqual(await counted(`agent_id=${id}&to=2020-01-01`), [])
})

test('template: the message is the template with fields of the payload; one that gives nothing is the payload', async () => {
  const { id } = await newAgent({ template: 'Issue {{issue.number}}: {{issue.title}}' })
  const { session_id } = await deliver(id, { issue: { number: 4, title: '{{issue.number}} $1' } })
  assert.deepEqual(await messagesOf(session_id), ['Issue 4: {{issue.number}} $1'])
  const blank = await newAgent({ template: '{{nothing}}' })
  assert.deepEqual(await messagesOf((await deliver(blank.id, [1])).session_id), ['[\n  1\n]'])
})

test('conversation: deliveries of one issue are prompts of one session, in their order; another issue is another', async () => {
  const { id } = await newAgent({ conversation: 'github-issue', template: '{{comment.body}}' })
  const repository = { full_name: 'acme/site' }
  const say = (number: number, text: string) => deliver(id, { repository, issue: { number }, comment: { body: text } })
  const first = await say(1, 'one')
  assert.deepEqual(
    [(await say(1, 'two')).session_id, (await say(1, 'three')).session_id],
    [first.session_id, first.session_id],
  )
  assert.notEqual((await say(2, 'other')).session_id, first.session_id)
  assert.deepEqual(await messagesOf(first.session_id), ['one', 'two', 'three'])
  assert.notEqual((await deliver(id, { comment: { body: 'of none' } })).session_id, first.session_id)
})

test('conversation: many first deliveries at a time are one session; after its deletion there is a new one', async () => {
  const { id } = await newAgent({ conversation: 'thread' })
  const all = await Promise.all(Array.from({ length: 40 }, (_, n) => deliver(id, { thread: 'x', n })))
  const [session = '', ...others] = new Set(all.map(({ session_id }) => session_id))
  assert.deepEqual(others, [])
  assert.equal((await messagesOf(session)).length, 40)
  await send(service, `DELETE /session/${session}`)
  const after = await deliver(id, { thread: 'x' })
  assert.notEqual(after.session_id, session)
  assert.equal((await deliver(id, { thread: 'x' })).session_id, after.session_id)
})

test('conversation: a session whose agent was given away is not continued', async () => {
  const { id } = await newAgent({ conversation: 'thread' })
  const before = await deliver(id, { thread: 'x' })
  await send(service, `PATCH /api/agents/${id}`, { body: { name: 'Given', owner_id: 'bob' } })
  assert.notEqual((await deliver(id, { thread: 'x' })).session_id, before.session_id)
})

test('conversation: a full queue is 429, and its delivery can be sent again', async () => {
  const { id } = await newAgent({ conversation: 'thread' })
  const { session_id } = await deliver(id, { thread: 'x' })
  const fill = `
    with filled as (
      insert into prompts (id, session_id, position, parts, model, mode, principal)
      select 'fill_' || n, $1, 1000 + n, '[]', 'scripted', 'enqueue', 'team' from generate_series(1, 100) n
      returning id
    )
    insert into waits (prompt_id, kind, session_id) select id, 'budget', $1 from filled`
  await database.query(fill, [session_id])
  const sent = { headers: { ...bearer, 'webhook-id': 'full' }, body: { thread: 'x' } }
  assert.equal((await post(id, sent)).status, 429)
  await database.query('delete from prompts where session_id = $1 and id like $2', [session_id, 'fill_%'])
  assert.equal((await post(id, sent)).json<WebhookAcceptance>().status, 'accepted')
})

test('GET /api/deliveries lists newest first, in pages, by agent, session, id and status', async () => {
  const { id } = await newAgent()
  const accepted: WebhookAcceptance[] = []
  for (const name of ['a', 'b', 'c']) accepted.push(await deliver(id, { name }, { 'webhook-id': name }))
  const all = await list(`agent_id=${id}`)
  assert.deepEqual(
    all.map(({ request_id }) => request_id),
    ['c', 'b', 'a'],
  )
  const first = await send(service, `GET /api/deliveries?agent_id=${id}&limit=2`)
  const { next_cursor } = first.json<{ next_cursor: string }>()
  assert.deepEqual([...deliveriesOf(first), ...(await list(`agent_id=${id}&limit=2&cursor=${next_cursor}`))], all)
  const [, second] = accepted
  assert.deepEqual(
    (await list(`session_id=${second?.session_id}`)).map(({ request_id }) => request_id),
    ['b'],
  )
  assert.deepEqual((await list(`agent_id=${id}&request_id=b&status=accepted&from=2020-01-01`)).length, 1)
  assert.deepEqual(await list(`agent_id=${id}&status=failed`), [])
  assert.deepEqual(await list(`agent_id=${id}&to=2020-01-01`), [])
  assert.equal((await send(service, 'GET /api/deliveries?status=lost')).status, 400)
})

test('GET /api/deliveries/{id} shows the payload as it was sent, and no header that could hold a secret', async () => {
  const { id } = await newAgent()
  const body = '{ "a" :1.10 }'
  await deliver(id, body, { 'webhook-id': 'w', 'x-custom-secret': 'hidden', 'user-agent': 'Sender/1' })
  const [line] = await list(`agent_id=${id}`)
  const { payload, headers, ...rest } = await detail(line?.id ?? '')
  assert.equal(payload, body)
  assert.deepEqual(headers, { 'content-type': 'application/json', 'user-agent': 'Sender/1', 'webhook-id': 'w' })
  const { headers: _headers, ...listed } = line ?? assert.fail('no line')
  assert.deepEqual(rest, listed)
  assert.deepEqual(
    [rest.kind, rest.status, rest.attempts, rest.payload_bytes, rest.error],
    ['webhook', 'accepted', 1, 13, null],
  )
  assert.match(rest.prompt_id ?? '', /^msg_/)
})

test('S17: a row of the log has its payload encrypted, and neither token nor signature', async () => {
  const { id } = await newAgent()
  await deliver(id, { text: 'a-canary-of-the-payload' }, { 'x-hub-signature-256': 'a-canary-of-the-signature' })
  const { rows } = await database.query(
    `select row_to_json(d)::text as text, p.sealed
     from webhook_deliveries d join webhook_payloads p using (agent_id, delivery_id) where agent_id = $1`,
    [id],
  )
  const text = rows[0].text + rows[0].sealed.toString('latin1')
  for (const canary of ['a-canary', secret]) assert.ok(!text.includes(canary), canary)
})

test('POST /api/deliveries/{id}/replay delivers the payload again under the settings of now', async () => {
  const { id } = await newAgent({ events: ['push'] })
  await deliver(id, { type: 'ping', n: 1 }, { 'webhook-id': 'w' })
  const [line] = await list(`agent_id=${id}`)
  assert.equal(line?.status, 'skipped')
  const webhook: WebhookConfig = { template: 'n is {{n}}' }
  await send(service, `PATCH /api/agents/${id}`, { body: { name: 'x', owner_id: 'team', config: { webhook } } })
  const answer = await send(service, `POST /api/deliveries/${line?.id}/replay`)
  assert.equal(answer.status, 201, answer.text)
  const replayed = answer.json<Delivery>()
  assert.deepEqual([replayed.kind, replayed.replay_of, replayed.status], ['replay', line?.id, 'accepted'])
  assert.notEqual(replayed.request_id, 'w')
  assert.deepEqual(await messagesOf(replayed.session_id), ['n is 1'])
  assert.equal((await send(service, 'POST /api/deliveries/del_nothing/replay')).status, 404)
})

test('a payload of more than 1 MB is delivered but not kept: its replay is 409', async () => {
  const { id } = await newAgent()
  await deliver(id, { text: 'x'.repeat(1024 * 1024) })
  const [line] = await list(`agent_id=${id}`)
  assert.equal((await detail(line?.id ?? '')).payload, null)
  assert.equal((await send(service, `POST /api/deliveries/${line?.id}/replay`)).status, 409)
})

test('POST /api/deliveries sends a test; its preview shows the same and does nothing', async () => {
  const { id: agent_id } = await newAgent({ events: ['push'], template: 'to {{ref}}', conversation: 'ref' })
  const headers = { 'X-GitHub-Event': 'push' }
  const line = `POST /api/agents/${agent_id}/webhook/preview`
  const previewed = await send(service, line, { body: { payload: { ref: 'main' }, headers } })
  assert.deepEqual(previewed.json<DeliveryPreview>(), {
    outcome: 'accepted',
    reason: null,
    event: 'push',
    message: 'to main',
    conversation: 'main',
  })
  const settings = { events: ['issues'], template: 'of {{ref}}' }
  const drafted = await send(service, line, { body: { payload: { ref: 'main' }, headers, settings } })
  assert.deepEqual(drafted.json<DeliveryPreview>(), {
    outcome: 'skipped',
    reason: 'event "push"; accepted: issues',
    event: 'push',
    message: 'of main',
    conversation: null,
  })
  const invalid = await send(service, line, { body: { payload: {}, settings: { rpm_limit: 0 } } })
  assert.deepEqual([invalid.status, /^settings.rpm_limit/.test(messageOf(invalid))], [400, true])
  const unknown = await send(service, 'POST /api/agents/agent_x/webhook/preview', { body: { payload: {}, settings } })
  assert.equal(unknown.status, 404)
  assert.deepEqual(await list(`agent_id=${agent_id}`), [])
  const sent = await send(service, 'POST /api/deliveries', { body: { agent_id, payload: { ref: 'main' }, headers } })
  assert.equal(sent.status, 201, sent.text)
  const { kind, status, session_id } = sent.json<Delivery>()
  assert.deepEqual([kind, status, await messagesOf(session_id)], ['test', 'accepted', ['to main']])
  const none = await send(service, 'POST /api/deliveries', { body: { agent_id } })
  assert.deepEqual([none.status, messageOf(none)], [400, 'payload is required'])
})

test('POST /api/deliveries to an agent at rest is 409', async () => {
  const { id: agent_id } = await newAgent()
  await send(service, `POST /api/agents/${agent_id}/pause`)
  assert.equal((await send(service, 'POST /api/deliveries', { body: { agent_id, payload: null } })).status, 409)
})

const wrong: readonly (readonly [webhook: unknown, field: string])[] = [
  ['text', 'config.webhook'],
  [{ secret_key: 1 }, 'config.webhook.secret_key'],
  [{ secret_key: ' ' }, 'config.webhook.secret_key'],
  [{ signature: { preset: 'github' } }, 'config.webhook.signature.secret_key'],
  [{ signature: { preset: 'gitlab', secret_key: 'X' } }, 'config.webhook.signature.preset'],
  [{ signature: { preset: 'custom', secret_key: 'X' } }, 'config.webhook.signature.header'],
  [{ delivery_id_header: 'no header' }, 'config.webhook.delivery_id_header'],
  [{ events: 'push' }, 'config.webhook.events'],
  [{ events: [{ field: 'a[0]' }] }, 'config.webhook.events[0].field'],
  [{ template: 1 }, 'config.webhook.template'],
  [{ rpm_limit: 0 }, 'config.webhook.rpm_limit'],
]
for (const [webhook, field] of wrong) {
  test(`config.webhook ${JSON.stringify(webhook)} is 400 and names ${field}`, async () => {
    const answer = await send(service, 'POST /api/agents', {
      body: { name: 'x', owner_id: 'team', config: { webhook } },
    })
    assert.equal(answer.status, 400, answer.text)
    assert.ok(messageOf(answer).startsWith(`${field} `), messageOf(answer))
  })
}

test('config.webhook that is invalid in the database rejects every delivery', async () => {
  const { id } = await newAgent()
  await database.query(`update agents set config = '{"webhook":{"signature":"none"}}' where id = $1`, [id])
  assert.equal((await post(id, { headers: bearer, body: {} })).status, 401)
  await database.query(
    `update agents set config = '{"webhook":{"delivery_id_header":"Authorization"}}' where id = $1`,
    [id],
  )
  assert.equal((await post(id, { headers: bearer, body: {} })).status, 401)
})
