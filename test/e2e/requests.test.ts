import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const megabyte = 1_000_000
const session = (await send(service, 'POST /session', { body: {} })).json<{ id: string }>().id
const prompts = `POST /session/${session}/prompt_async`
const agent = { name: 'Ada', owner_id: 'team' }
const model = { modelID: 'demo' }
const parts = [{ type: 'text', text: 'hello' }]

/** The message of an error in any of the three shapes. */
function messageOf(answer: Answered): string {
  const { error } = answer.json<{ error: string | { message: string } }>()
  return typeof error === 'string' ? error : error.message
}

const faults: readonly (readonly [line: string, body: unknown, field: RegExp])[] = [
  ['POST /api/agents', {}, /^name is required/],
  ['POST /api/agents', { name: 'a' }, /^owner_id is required/],
  ['POST /api/agents', { ...agent, name: ' \n ' }, /^name must not be blank/],
  ['POST /api/agents', { ...agent, owner_id: '' }, /^owner_id must not be/],
  ['POST /api/agents', { ...agent, name: 7 }, /^name must be string/],
  ['POST /api/agents', { ...agent, name: null }, /^name must be string/],
  ['POST /api/agents', { ...agent, name: 'x'.repeat(201) }, /^name must NOT have more than 200/],
  ['POST /api/agents', { ...agent, system: 'x'.repeat(megabyte + 1) }, /^system /],
  ['POST /api/agents', { ...agent, model: 4 }, /^model /],
  ['POST /api/agents', { ...agent, config: [] }, /^config /],
  ['POST /api/agents', { ...agent, config: 'x' }, /^config /],
  ['POST /api/agents', { ...agent, tools: 'bash' }, /^tools /],
  ['POST /api/agents', { ...agent, runtime: 'nope' }, /^runtime "nope" is unknown/],
  ['POST /api/agents', { ...agent, config: { runtime: 5 } }, /^config\.runtime 5 is unknown/],
  ['POST /api/agents', 'null', /object/],
  ['POST /api/agents', '[]', /object/],
  ['POST /api/agents', '"text"', /object/],
  ['POST /api/agents', '', /^body /],
  [prompts, { parts }, /^model is required/],
  [prompts, { model: {}, parts }, /^model\.modelID is required/],
  [prompts, { model: { modelID: ' ' }, parts }, /^model\.modelID must not be blank/],
  [prompts, { model: 'demo', parts }, /^model must be object/],
  [prompts, { model }, /^parts is required/],
  [prompts, { model, parts: [] }, /^parts must not be empty/],
  [prompts, { model, parts: 'hello' }, /^parts must be array/],
  [prompts, { model, parts: [{ text: 'a' }] }, /^parts\[0\]\.type must be one of "text", "file"/],
  [prompts, { model, parts: [{ type: 'text' }] }, /^parts\[0\]\.text is required/],
  [prompts, { model, parts: [{ type: 'text', text: 7 }] }, /^parts\[0\]\.text must be string/],
  [prompts, { model, parts: [{ type: 'text', text: ' \t' }] }, /^parts\[0\]\.text must not be blank/],
  [prompts, { model, parts: [...parts, { type: 'file', text: 'a' }] }, /^parts\[1\]\.data is required/],
  [prompts, { model, parts: [{ type: 'text', text: 'x'.repeat(megabyte + 1) }] }, /^parts\[0\]\.text /],
  [prompts, { model, parts, mode: 'shout' }, /^mode must be one of "enqueue", "reject", "interrupt", "steer"$/],
  [prompts, { model, parts, messageID: '' }, /^messageID /],
  ['POST /session', { prompt: '   ' }, /^prompt must not be blank/],
  ['POST /session', { title: 5 }, /^title must be string/],
  ['POST /session', { environment: [] }, /^environment must be object/],
  ['POST /session', '[]', /object/],
  ['GET /session?limit=0', undefined, /^limit /],
  ['GET /session?limit=201', undefined, /^limit /],
  ['GET /session?limit=ten', undefined, /^limit /],
  ['GET /session?cursor=nonsense!', undefined, /^invalid cursor$/],
  ['GET /session?status=asleep', undefined, /^status /],
  [`GET /v1/sessions/${session}/events?after=x`, undefined, /^after /],
  [`GET /v1/sessions/${session}/events?limit=1001`, undefined, /^limit /],
  [`POST /v1/sessions/${session}/events`, { events: [] }, /^events must not be empty/],
  [`POST /v1/sessions/${session}/events`, { events: [{ type: 'user.message' }] }, /^events\[0\]\.content is required/],
  [
    `POST /v1/sessions/${session}/events`,
    { events: [{ type: 'agent.message', content: parts }] },
    /^events\[0\]\.type must be one of/,
  ],
  ['POST /v1/messages', { messages: [{}], max_tokens: 1 }, /model/],
  ['POST /v1/messages', { model: 'demo', max_tokens: 1 }, /messages/],
  ['POST /v1/messages', { model: 'demo', messages: [{ role: 'user', content: 'a' }] }, /max_tokens/],
  ['POST /v1/messages', '{"model":', /JSON/],
  ['POST /v1/messages/count_tokens', { messages: [{}] }, /model/],
]
for (const [line, body, field] of faults) {
  const shown = (typeof body === 'string' ? body : (JSON.stringify(body) ?? '')).slice(0, 70)
  test(`400 that names the field: ${line.replace(session, '{id}')} ${shown}`, async () => {
    const answer = await send(service, line, body === undefined ? {} : { body })
    assert.equal(answer.status, 400, answer.text.slice(0, 300))
    assert.match(messageOf(answer), field)
    assert.ok(messageOf(answer).length < 600, 'the message does not repeat the body')
    assert.match(String(answer.headers['request-id']), /^req_/)
  })
}

test('unknown body fields are ignored', async () => {
  const answer = await send(service, 'POST /api/agents', { body: { ...agent, shoe_size: 43 } })
  assert.equal(answer.status, 201)
  assert.equal('shoe_size' in answer.json(), false)
})

test('malformed JSON is 400 on every route with a body', async () => {
  for (const body of ['{', '{"a":1,}', 'nul', '{"a":"\u0001"}', "{'a':1}", '{"a":1}{"b":2}', '\u0000']) {
    for (const line of ['POST /api/agents', 'POST /session', prompts]) {
      const answer = await send(service, line, { body })
      assert.equal(answer.status, 400, `${line} ${body}`)
      assert.match(messageOf(answer), /^request body is not valid JSON/)
    }
  }
})

test('a body in another format is 415: text, forms, no type at all, and anything encoded', async () => {
  const body = JSON.stringify(agent)
  for (const headers of [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/jsonp' },
    { 'content-type': 'text/json' },
    { 'content-type': '' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  ]) {
    for (const line of ['POST /api/agents', 'POST /v1/messages', prompts]) {
      assert.equal((await send(service, line, { headers, body })).status, 415, `${line} ${JSON.stringify(headers)}`)
    }
  }
  const withCharset = { 'content-type': 'Application/JSON; charset=utf-8' }
  assert.equal((await send(service, 'POST /api/agents', { headers: withCharset, body })).status, 201)
})

test('a body above the limit is 413, with or without Content-Length', async () => {
  const tooBig = JSON.stringify({ ...agent, description: 'x'.repeat(3 * megabyte) })
  const chunked = { 'transfer-encoding': 'chunked' }
  for (const headers of [{}, chunked]) {
    const answer = await send(service, 'POST /api/agents', { headers, body: tooBig })
    assert.equal(answer.status, 413)
    assert.match(messageOf(answer), /larger/)
    assert.match(String(answer.headers['request-id']), /^req_/)
  }
  const hugePrompt = { model, parts: [{ type: 'text', text: 'x'.repeat(32 * megabyte) }] }
  assert.equal((await send(service, prompts, { body: hugePrompt })).status, 413)
})

test('the model route takes what the others refuse for size', async () => {
  const messages = [{ role: 'user', content: 'x'.repeat(3 * megabyte) }]
  const answer = await send(service, 'POST /v1/messages', { body: { model: 'demo', max_tokens: 10, messages } })
  assert.equal(answer.status, 200)
})

test('an empty body with a JSON content type is fine where no body is needed', async () => {
  const headers = { 'content-type': 'application/json' }
  const made = await send(service, 'POST /session', { headers })
  assert.equal(made.status, 200)
  const { id } = made.json<{ id: string }>()
  assert.equal((await send(service, `POST /session/${id}/abort`, { headers })).status, 200)
  assert.equal((await send(service, `DELETE /session/${id}`, { headers })).status, 200)
})

test('nesting up to 64 levels is read, deeper is 400', async () => {
  const nested = (levels: number) =>
    `{"name":"a","owner_id":"b","config":{"deep":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}`
  assert.equal((await send(service, 'POST /api/agents', { body: nested(64) })).status, 201)
  const tooDeep = await send(service, 'POST /api/agents', { body: nested(65) })
  assert.equal(tooDeep.status, 400)
  assert.match(messageOf(tooDeep), /nested deeper than 64/)
  assert.equal((await send(service, 'POST /api/agents', { body: nested(100_000) })).status, 400)
})

test('__proto__ and constructor in a body change nothing but the object that holds them', async () => {
  const body =
    '{"name":"a","owner_id":"b","__proto__":{"role":"admin"},"config":{"__proto__":{"x":1},"__\\u0070roto__":{"x":1},"constructor":{"prototype":{"x":1}},"kept":1}}'
  const answer = await send(service, 'POST /api/agents', { body })
  assert.equal(answer.status, 201)
  const made = answer.json<{ config: Record<string, unknown> }>()
  assert.equal(made.config['kept'], 1)
  assert.equal(answer.text.includes('__proto__'), false)
  const after = (await send(service, 'POST /api/agents', { body: agent })).json<{ config: Record<string, unknown> }>()
  assert.equal(after.config['x'], undefined)
  assert.equal('role' in after, false)
})

test('text that no database column can hold is 400 or stored, never 500', async () => {
  for (const name of ['a\u0000b', '\ud800', '\u202e', '😀'.repeat(50)]) {
    const answer = await send(service, 'POST /api/agents', { body: { ...agent, name } })
    assert.ok(answer.status === 201 || answer.status === 400, `${JSON.stringify(name)} answered ${answer.status}`)
    const config = await send(service, 'POST /api/agents', { body: { ...agent, config: { name, [name]: 1 } } })
    assert.ok(
      config.status === 201 || config.status === 400,
      `config ${JSON.stringify(name)} answered ${config.status}`,
    )
    const prompt = { model, parts: [{ type: 'text', text: name }] }
    const queued = await send(service, prompts, { body: prompt })
    assert.ok(
      queued.status === 204 || queued.status === 400,
      `prompt ${JSON.stringify(name)} answered ${queued.status}`,
    )
    const created = await send(service, 'POST /session', { body: { title: name, environment: { name } } })
    assert.ok(created.status === 200 || created.status === 400, `session ${JSON.stringify(name)} ${created.status}`)
  }
  for (const path of ['/session/a%00b', '/api/agents/a%00b', '/api/agents?owner_id=a%00b', '/session?agent_id=%00']) {
    assert.equal((await send(service, `GET ${path}`)).status, 400, path)
  }
})
