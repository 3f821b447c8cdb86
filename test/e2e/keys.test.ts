import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import { Client } from 'pg'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf, makeKey } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const stranger = { url: service.url }
const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'
const model = { modelID: 'scripted' }
const prompt = (text: string) => ({ model, parts: [{ type: 'text', text }] })
const message = (content: string) => ({ model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content }] })

test('POST /api/keys {label} and GET /api/keys are as the interface has them', async () => {
  const created = await send(service, 'POST /api/keys', { body: { label: 'Ada' } })
  assert.equal(created.status, 201)
  const { id, key } = created.json<ShownApiKey>()
  const listed = await send(service, 'GET /api/keys')
  assert.equal(listed.status, 200)
  const { keys } = listed.json<{ keys: ApiKey[] }>()
  const record = keys.find(each => each.id === id)
  assert.equal(record?.label, 'Ada')
  assert.match(record?.created_at ?? '', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/)
  assert.ok(!listed.text.includes(key))
})

test('a virtual key is used exactly like the master key: Bearer in any case, x-api-key, ?key= on streams alone', async () => {
  const { key } = await makeKey(service)
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  const spellings = [
    { authorization: `Bearer ${key}` },
    { authorization: `bearer ${key}` },
    { authorization: `BEARER  ${key}` },
    { 'x-api-key': key },
    { authorization: 'Basic b3BlbmNvZGU6eA==', 'x-api-key': key },
  ]
  for (const headers of spellings) {
    assert.equal((await send(stranger, 'GET /api/agents', { headers })).status, 200)
    assert.equal(
      (await send(stranger, 'POST /v1/messages', { headers, body: message(saying({ text: 'Hi.' })) })).status,
      200,
    )
  }
  const stream = await followEvents(stranger, id, { query: `key=${key}` })
  stream.close()
  assert.equal((await send(stranger, `GET /api/agents?key=${key}`)).status, 401)
  assert.equal((await send(stranger, `GET /v1/sessions/${id}/events?key=${key}`)).status, 401)
})

test('a key with a budget calls the scripted model without max_tokens', async () => {
  const limited = await holderOf(service, { max_budget: 1 })
  const body = { model: 'demo', messages: [{ role: 'user', content: 'hello' }] }
  assert.equal((await send(limited, 'POST /v1/chat/completions', { body })).status, 200)
})

test('S01: a wrong Bearer is 401 even beside a right x-api-key, and two Authorization headers are', async () => {
  const { key } = await makeKey(service)
  const wrong = (await makeKey(service)).key.replace(/.$/, last => (last === '0' ? '1' : '0'))
  const refused: Record<string, string | string[]>[] = [
    { authorization: `Bearer ${wrong}`, 'x-api-key': key },
    { authorization: 'Bearer', 'x-api-key': key },
    { authorization: [`Bearer ${key}`, `Bearer ${key}`] },
    { 'x-api-key': `${key}0` },
    { 'x-api-key': key.slice(0, -1) },
    { 'x-api-key': wrong },
    { authorization: `Basic ${key}` },
  ]
  for (const headers of refused) {
    const answer = await send(stranger, 'GET /api/agents', { headers })
    assert.deepEqual([answer.status, answer.text], [401, unauthorized], JSON.stringify(headers))
  }
})

test('S03: whatever a stranger sends as a key is 401, and none of it reaches the database as SQL', async () => {
  const texts = [
    "' or '1'='1",
    "sk-'; drop table api_keys; --",
    "sk-' union select id from api_keys --",
    '"',
    '%',
    'sk-%',
    '\\',
    'null',
    'undefined',
    'master',
    'a'.repeat(8_000),
    Buffer.from('ключ 🔑 sk-Ünïcode').toString('latin1'),
  ]
  for (const text of texts) {
    for (const headers of [{ authorization: `Bearer ${text}` }, { 'x-api-key': text }]) {
      const answer = await send(stranger, 'GET /api/agents', { headers })
      assert.deepEqual([answer.status, answer.text], [401, unauthorized], text.slice(0, 40))
    }
    const inQuery = `GET /v1/sessions/x/events/stream?key=${encodeURIComponent(text)}`
    assert.equal((await send(stranger, inQuery)).status, 401, text.slice(0, 40))
  }
  assert.ok((await send(service, 'GET /api/keys')).status === 200, 'the table is still there')
  assert.doesNotMatch(service.logs(), /"level":"error"/)
})

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  test(`@anthropic-ai/sdk ${version}: a virtual key works as x-api-key and as a bearer, streams too, until it is revoked`, async () => {
    const { id, key } = await makeKey(service, { label: 'sdk' })
    const options = { baseURL: service.url, maxRetries: 0 }
    const asked = (content: string) => ({
      model: 'scripted',
      max_tokens: 100,
      messages: [{ role: 'user' as const, content }],
    })
    for (const client of [
      new Anthropic({ ...options, apiKey: key }),
      new Anthropic({ ...options, apiKey: null, authToken: key }),
    ]) {
      const { content } = await client.messages.create(asked(saying({ text: 'Hi there.' })))
      assert.deepEqual(content, [{ type: 'text', text: 'Hi there.' }])
      assert.equal(await client.messages.stream(asked(saying({ text: 'One two.' }))).finalText(), 'One two.')
      assert.ok((await client.models.list()).data.length > 0)
    }
    assert.ok(!JSON.stringify(upstream.requests.at(-1)?.headers).includes(key), 'our key never leaves')
    await send(service, `DELETE /api/keys/${id}`)
    const client = new Anthropic({ ...options, apiKey: key })
    await assert.rejects(client.messages.create(asked('hello')), Anthropic.AuthenticationError)
  })
}

test('an expired key is 401 with the body of the interface, wherever it is sent', async () => {
  const holder = await holderOf(service, { duration: '1s' })
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  assert.equal((await send(holder, 'GET /api/agents')).status, 200)
  await eventually(async () => (await send(holder, 'GET /api/agents')).status === 401)
  for (const line of [
    'GET /api/agents',
    'POST /v1/messages',
    'GET /api/v1/managed_agents/sessions',
    'GET /v1/models',
  ]) {
    const answer = await send(holder, line, line.startsWith('POST') ? { body: message('hi') } : {})
    assert.deepEqual([answer.status, answer.text], [401, unauthorized], line)
  }
  assert.equal((await send(stranger, `GET /v1/sessions/${id}/events/stream?key=${holder.key}`)).status, 401)
})

test('GET /api/keys/{id} tells when a key was used last, some seconds later', async () => {
  const holder = await holderOf(service)
  const read = async () => (await send(service, `GET /api/keys/${holder.id}`)).json<ApiKey>().last_used_at
  assert.equal(await read(), null)
  await send(holder, 'GET /api/agents')
  const usedAt = await eventually(async () => (await read()) ?? undefined, { what: 'the time of the last use' })
  assert.ok(Math.abs(Date.parse(usedAt) - Date.now()) < 60_000)
})

test('S19: the ticket of a key opens nothing once the key is revoked', async () => {
  const holder = await holderOf(service)
  const { id } = (await send(holder, 'POST /session', { body: {} })).json<Session>()
  const issue = async () =>
    (await send(holder, `POST /v1/sessions/${id}/events/tickets`)).json<{ ticket: string }>().ticket
  const [early, late] = [await issue(), await issue()]
  const stream = await followEvents(stranger, id, { query: `ticket=${early}` })
  await send(service, `DELETE /api/keys/${holder.id}`)
  const refused = await send(stranger, `GET /v1/sessions/${id}/events/stream?ticket=${late}`)
  assert.deepEqual([refused.status, refused.text], [401, unauthorized])
  await stream.ended
})

test('the streams of a key end when it is revoked, those of others continue', async () => {
  const [holder, other] = [await holderOf(service), await holderOf(service)]
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  const streams = await Promise.all([
    followEvents(holder, id),
    followEvents(stranger, id, { query: `key=${holder.key}` }),
  ])
  const others = await followEvents(other, id)
  await send(service, `DELETE /api/keys/${holder.id}`)
  await Promise.all(streams.map(({ ended }) => ended))
  await send(service, `POST /session/${id}/prompt_async`, { body: prompt(saying({ text: 'Still here.' })) })
  await others.event('session.status_idle')
  others.close()
})

test('the streams of a key end when it expires', async () => {
  const holder = await holderOf(service, { duration: '1s' })
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  const stream = await followEvents(holder, id)
  await stream.ended
  assert.equal((await send(holder, 'GET /api/agents')).status, 401)
})

/** Who the prompts of a session are booked on. */
async function payersOf(sessionId: string): Promise<{ principal: string; key_id: string | null }[]> {
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  const text = 'select principal, key_id from prompts where session_id = $1 order by position'
  return client.query(text, [sessionId]).then(
    ({ rows }) => client.end().then(() => rows),
    error => client.end().then(() => Promise.reject(error)),
  )
}

test('a prompt is booked on the key that queued it, whoever made the session', async () => {
  const [ada, bob] = [await holderOf(service, { owner_id: 'ada' }), await holderOf(service, { label: 'bob' })]
  const { id } = (
    await send(ada, 'POST /session', { body: { prompt: saying({ text: 'One.' }), model: 'scripted' } })
  ).json<Session>()
  for (const target of [bob, service])
    await send(target, `POST /session/${id}/prompt_async`, { body: prompt(saying({ text: 'More.' })) })
  await send(bob, `POST /v1/sessions/${id}/events`, {
    body: { events: [{ type: 'user.message', content: [{ type: 'text', text: saying({ text: 'Last.' }) }] }] },
  })
  assert.deepEqual(await payersOf(id), [
    { principal: 'ada', key_id: ada.id },
    { principal: bob.id, key_id: bob.id },
    { principal: 'master', key_id: null },
    { principal: bob.id, key_id: bob.id },
  ])
})

test('B6: a run ends at its next model call when the key that queued it was revoked, and reports it', async () => {
  const holder = await holderOf(service, { label: 'short-lived' })
  const { id } = (await send(holder, 'POST /session', { body: {} })).json<Session>()
  const stream = await followEvents(service, id)
  upstream.hold()
  const before = upstream.requests.length
  const steps = saying({ text: 'First a tool.', ...bash('true') }, { text: 'Never said.' })
  for (const text of [steps, saying({ text: 'Never said either.' })])
    await send(holder, `POST /session/${id}/prompt_async`, { body: prompt(text) })
  await upstream.received(before + 1)
  await send(service, `DELETE /api/keys/${holder.id}`)
  upstream.release()
  const isLastError = (at: number) => () => stream.events.filter(({ type }) => type === 'session.error')[at]
  for (const at of [0, 1]) {
    const { error } = (await eventually(isLastError(at), { what: `error ${at}` })) as unknown as {
      error: { message: string }
    }
    assert.match(error.message, /the key that queued the prompt was revoked, has expired or may only read/)
  }
  const said = () => JSON.stringify(stream.events.filter(({ type }) => type === 'agent.message'))
  assert.doesNotMatch(said(), /Never said/)
  await send(service, `POST /session/${id}/prompt_async`, { body: prompt(saying({ text: 'Goes on.' })) })
  await stream.event('session.status_idle')
  assert.match(said(), /Goes on\./)
  stream.close()
})

test('S45: no key and no ticket is in the log, however it was sent', async () => {
  const { key } = await makeKey(service)
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  const { ticket } = (await send(service, `POST /v1/sessions/${id}/events/tickets`)).json<{ ticket: string }>()
  await send(stranger, 'GET /api/agents', { headers: { 'x-api-key': key } })
  for (const query of [`key=${key}`, `ticket=${ticket}`]) (await followEvents(stranger, id, { query })).close()
  await send(stranger, `GET /v1/sessions/nothing/events/stream?key=${key}`)
  for (const secret of [key, ticket, service.key]) assert.ok(!service.logs().includes(secret))
})
