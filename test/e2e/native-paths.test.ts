import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { open, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
const secret = 'sk-upstream-0123456789'
const at = (provider: string, base: string, more: object = { api_key: secret }) => ({
  model_name: `${provider}/*`,
  params: { model: `${provider}/*`, api_base: `${upstream.url}${base}`, ...more },
})
const aws = {
  aws_region_name: 'eu-central-1',
  aws_access_key_id: 'AKIAEXAMPLE',
  aws_secret_access_key: 'aws-secret-0123',
}
const service = await startService({
  config: JSON.stringify({
    model_list: [at('anthropic', ''), at('openai', '/v1'), at('gemini', ''), at('bedrock', '', aws)],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
after(() => upstream.stop())
const all = ['anthropic', 'openai', 'gemini', 'bedrock'] as const
const holder = await holderOf(service, { passthrough: [...all] })
const nobody = await holderOf(service)
const messageOf = (answer: { json<T>(): T }) => answer.json<{ error: { message: string } }>().error.message

const lines: readonly (readonly [line: string, sent: string, body?: string])[] = [
  ['GET /openai/v1/files?limit=2&after=a%2Fb', '/v1/files?limit=2&after=a%2Fb'],
  ['GET /openai/files', '/v1/files'],
  ['GET /openai/v1/files/%C3%84.json', '/v1/files/%C3%84.json'],
  ['POST /openai/v1/vector_stores', '/v1/vector_stores', '{"name" : "x"}'],
  ['DELETE /openai/v1/files/file_1', '/v1/files/file_1'],
  ['PATCH /openai/v1/things/1', '/v1/things/1', '{"a":1}'],
  ['GET /anthropic/v1/models?limit=1', '/v1/models?limit=1'],
  ['POST /anthropic/v1/messages/batches', '/v1/messages/batches', '{"requests": [ ]}'],
  ['PUT /gemini/v1beta/things/1', '/v1beta/things/1', '{}'],
  ['GET /gemini/v1beta/files', '/v1beta/files'],
  ['POST /bedrock/model/amazon.nova%3A0/count-tokens', '/model/amazon.nova%3A0/count-tokens', '{"input": { }}'],
]
for (const [line, sent, body] of lines) {
  test(`${line} reaches the provider as it is, with the provider's credential`, async () => {
    upstream.answer({ status: 201, body: '{"made" :  true}' })
    const headers = {
      'content-encoding': 'gzip',
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
      'openai-organization': 'org-mine',
      connection: 'close',
    }
    const answer = await send(holder, line, { headers, ...(body && { body }) })
    assert.deepEqual([answer.status, answer.text], [201, '{"made" :  true}'])
    const got = upstream.last()
    assert.deepEqual([`${got.method} ${got.url}`, got.body.toString()], [`${line.split(' ')[0]} ${sent}`, body ?? ''])
    const credential = [got.headers.authorization, got.headers['x-api-key'], got.headers['x-goog-api-key']].join(' ')
    assert.match(credential, line.includes('bedrock') ? /AWS4-HMAC-SHA256 .*eu-central-1\/bedrock/ : new RegExp(secret))
    const names = Object.keys(got.headers)
    assert.equal(got.headers['content-encoding'], 'gzip')
    assert.deepEqual(
      names.filter(name => ['cookie', 'x-forwarded-for', 'openai-organization'].includes(name)),
      [],
    )
    assert.ok(!JSON.stringify(got.headers).includes(holder.key ?? '?'))
  })
}

test('a key without the field passthrough is rejected with the field that it lacks and how to get it', async () => {
  upstream.answer({ body: '{}' })
  const before = upstream.requests.length
  for (const line of ['GET /openai/v1/files', 'POST /anthropic/v1/files', 'GET /gemini/v1beta/files']) {
    const answer = await send(nobody, line)
    assert.equal(answer.status, 403, answer.text)
    assert.match(
      messageOf(answer),
      /^passthrough of this key does not name (openai|anthropic|gemini), .*PATCH \/api\/keys/,
    )
  }
  const other = await holderOf(service, { passthrough: ['openai'] })
  assert.equal((await send(other, 'GET /anthropic/v1/files')).status, 403)
  const narrow = await holderOf(service, { passthrough: ['bedrock'], models: ['bedrock/amazon.*'] })
  assert.equal((await send(narrow, 'POST /bedrock/model/meta.llama/converse', { body: {} })).status, 403)
  assert.equal((await send(narrow, 'POST /bedrock/%6dodel/meta%2ellama/converse', { body: {} })).status, 403)
  assert.equal((await send(narrow, 'POST /bedrock/model/amazon.x/converse', { body: {} })).status, 200)
  assert.equal(upstream.requests.length, before + 1)
  assert.equal((await send({ url: service.url }, 'GET /openai/v1/files')).status, 401)
  assert.equal((await send(service, 'GET /openai/v1/files')).status, 200)
})

test('our key is taken as each provider’s clients send theirs, and is never forwarded', async () => {
  upstream.answer({ body: '{}' })
  const key = holder.key ?? ''
  const ways: readonly (readonly [string, Record<string, string>])[] = [
    ['GET /anthropic/v1/models', { 'x-api-key': key }],
    ['GET /openai/v1/files', { authorization: `Bearer ${key}` }],
    ['GET /openai/v1/files', { 'api-key': key }],
    ['GET /gemini/v1beta/files', { 'x-goog-api-key': key }],
    [`GET /gemini/v1beta/files?key=${key}&pageSize=2`, {}],
    [`GET /gemini/v1beta/files?%6bey=${key}&pageSize=2`, {}],
  ]
  for (const [line, headers] of ways) {
    const answer = await send({ url: service.url }, line, { headers })
    assert.equal(answer.status, 200, `${line}: ${answer.text}`)
    const { url, headers: sent } = upstream.last()
    assert.ok(!`${url}${JSON.stringify(sent)}`.includes(key), line)
    if (line.includes('pageSize')) assert.equal(url, '/v1beta/files?pageSize=2')
  }
})

test('no path leaves the provider’s address', async () => {
  const before = upstream.requests.length
  const paths = [
    '/openai/v1/../../admin',
    '/openai/..',
    '/openai/./files',
    '/openai/%2e%2e/admin',
    '/openai/%252e%252e/admin',
    '/openai/v1/%2e%2e%2fadmin',
    '/openai/v1%2Ffiles',
    '/openai/v1%252Ffiles',
    '/openai/..%5cadmin',
    '/openai/..\\admin',
    '/openai/..;/admin',
    '/openai/v1/%ff',
    '/openai/v1/%0d%0ax',
    '/openai/v1/responses/resp_1/anything',
    '/openai/responses/resp_1',
    '/openai/v1/%72esponses/resp_1',
    '/openai//evil.example/x',
    '/openai/http://evil.example/',
    '/bedrock/model/..%2f..%2fadmin/converse',
  ]
  for (const path of paths) {
    const answer = await send(holder, `GET ${path}`)
    assert.ok(answer.status === 400 || answer.status === 404, `${path}: ${answer.status} ${answer.text}`)
  }
  const absolute = await send(holder, 'GET http://evil.example/openai/v1/files')
  assert.ok([200, 400, 404].includes(absolute.status))
  for (const { url } of upstream.requests.slice(before)) assert.match(url, /^\/v1\/files$/)
})

test('an answer is relayed as it comes, a form as it is, and errors of the provider lose its credential', async () => {
  const pieces = ['data: {"a":1}\n\n', 'data: {"b":2}\n\n']
  upstream.answer({ type: 'text/event-stream', body: pieces })
  const streamed = await send(holder, 'POST /openai/v1/threads/runs', { body: { stream: true } })
  assert.deepEqual([streamed.headers['content-type'], streamed.text], ['text/event-stream', pieces.join('')])

  upstream.answer({ body: '{"id":"file_1"}' })
  const client = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: holder.key ?? '', maxRetries: 0 })
  const bytes = Buffer.alloc(3_000_000, 'x')
  const file = await client.files.create({ file: new File([bytes], 'a.jsonl'), purpose: 'batch' })
  assert.equal(file.id, 'file_1')
  assert.ok(upstream.last().body.includes(bytes))
  assert.match(String(upstream.last().headers['content-type']), /^multipart\/form-data; boundary=/)

  upstream.answer({ status: 403, body: JSON.stringify({ error: { message: `no access for ${secret}` } }) })
  const refused = await send(holder, 'GET /openai/v1/files/file_2')
  assert.deepEqual([refused.status, messageOf(refused)], [403, 'no access for [secret]'])
  upstream.answer({ status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' })
  const redirected = await send(holder, 'GET /openai/v1/files/file_2')
  assert.equal(redirected.status, 502, redirected.text)
  upstream.answer({ body: '{}' })
})

test('the first bytes of a body reach the provider before its last ones are sent', async () => {
  const { hostname, port } = new URL(service.url)
  upstream.answerAtFirstByteOf('/v1/early')
  const headers = { authorization: `Bearer ${holder.key}` }
  const status = await new Promise(resolve => {
    const outgoing = httpRequest({ hostname, port, method: 'POST', path: '/openai/v1/early', headers }, answer => {
      resolve(answer.statusCode)
      outgoing.destroy()
    })
    outgoing.on('error', () => undefined)
    outgoing.write('x')
  })
  assert.equal(status, 200)
})

test('a body that is larger than any that providers take is rejected before it comes', async () => {
  const { hostname, port } = new URL(service.url)
  const headers = { authorization: `Bearer ${holder.key}`, 'content-length': 600 * 1024 * 1024 }
  const status = await new Promise(resolve => {
    const outgoing = httpRequest({ hostname, port, method: 'POST', path: '/openai/v1/files', headers }, answer => {
      resolve(answer.statusCode)
      outgoing.destroy()
    })
    outgoing.on('error', () => undefined)
    outgoing.write('x')
  })
  assert.equal(status, 413)
})

test('calls of models below a provider’s path are calls of the gateway: models of the key, usage in the ledger', async () => {
  const usage = { input_tokens: 7, output_tokens: 3 }
  const content = [{ type: 'text', text: 'Hi' }]
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: 'end_turn',
    usage,
  }
  upstream.answer({ body: JSON.stringify(message) })
  const caller = await holderOf(service, { models: ['anthropic/claude-sonnet-4-5'], max_budget: 5 })
  const client = new Anthropic({ baseURL: `${service.url}/anthropic`, apiKey: caller.key ?? '', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const made = await client.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 10, messages })
  assert.deepEqual(made.content, content)
  assert.equal(JSON.parse(upstream.last().body.toString()).model, 'claude-sonnet-4-5')
  await assert.rejects(client.messages.create({ model: 'claude-opus-4-5', max_tokens: 10, messages }), { status: 403 })

  upstream.answer({
    body: JSON.stringify({ candidates: [], usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 } }),
  })
  const body = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
  const gemini = await send(nobody, 'POST /gemini/v1beta/models/gemini-2.5-flash:generateContent', { body })
  assert.equal(gemini.status, 200, gemini.text)
  assert.equal(upstream.last().url, '/v1beta/models/gemini-2.5-flash:generateContent')

  upstream.answer({
    body: JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      choices: [],
      usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
    }),
  })
  for (const path of ['/openai/v1/chat/completions', '/openai/chat/completions']) {
    const chat = await send(nobody, `POST ${path}`, { body: { model: 'gpt-4o', messages } })
    assert.equal(chat.status, 200, chat.text)
    assert.equal(upstream.last().url, '/v1/chat/completions')
  }
  const elsewhere = await send(nobody, 'POST /openai/v1/chat/completions', {
    body: { model: 'anthropic/claude-x', messages },
  })
  assert.equal(elsewhere.status, 200, elsewhere.text)
  assert.equal(JSON.parse(upstream.last().body.toString()).model, 'anthropic/claude-x')
  upstream.answer({ body: '{}' })
})

test('a budget rejects calls without a price, reading stays free, and requests count against the rate limit', async () => {
  const budgeted = await holderOf(service, { passthrough: ['openai'], max_budget: 5 })
  const refused = await send(budgeted, 'POST /openai/v1/batches', { body: {} })
  assert.equal(refused.status, 403)
  assert.match(messageOf(refused), /cost of this request is unknown.*without max_budget/)
  assert.equal((await send(budgeted, 'GET /openai/v1/batches')).status, 200)
  const slow = await holderOf(service, { passthrough: ['openai'], rpm_limit: 1 })
  assert.equal((await send(slow, 'POST /openai/v1/batches', { body: {} })).status, 200)
  const second = await send(slow, 'POST /openai/v1/batches', { body: {} })
  assert.equal(second.status, 429)
  assert.equal(second.headers['x-switchyard-error-source'], 'gateway')
})

test('each request is in the ledger, without usage', async () => {
  const { id, ...caller } = await holderOf(service, { passthrough: ['openai', 'bedrock'] })
  await send(caller, 'POST /openai/v1/batches', { body: {} })
  await send(caller, 'GET /openai/v1/batches?secret=1')
  const arn = encodeURIComponent('arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1')
  await send(caller, `POST /bedrock/model/${arn}/count-tokens`, { body: {} })
  interface Row {
    readonly model: string
    readonly upstream_model: string
    readonly lane: string
    readonly cost_usd: string | null
  }
  for (;;) {
    const { calls } = (await send(service, `GET /api/usage/calls?key_id=${id}`)).json<{ calls: readonly Row[] }>()
    if (calls.length < 3) continue
    const rows = calls.map(row => [row.model, row.upstream_model, row.lane, row.cost_usd]).sort()
    assert.deepEqual(rows, [
      ['bedrock/*', `POST /model/${arn.replace('123456789012', '...')}/count-tokens`, 'native', null],
      ['openai/*', 'GET /v1/batches', 'native', '0'],
      ['openai/*', 'POST /v1/batches', 'native', null],
    ])
    return
  }
})

test('what a revoked key began is over, and a provider that is not configured is named', async () => {
  const { id, ...caller } = await holderOf(service, { passthrough: ['openai'] })
  assert.equal((await send(caller, 'GET /openai/v1/files')).status, 200)
  await send(service, `DELETE /api/keys/${id}`)
  assert.equal((await open(caller, 'GET /openai/v1/files')).statusCode, 401)
  const answer = await send(service, 'GET /openai/deployments/x/y')
  assert.equal(answer.status, 404)
})
