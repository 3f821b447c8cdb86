import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import AnthropicOld from '@anthropic-ai/sdk-0'
import { deploymentAt, startGatewayApp } from '../../../test/support/gateway/gateway-app.ts'
import { readStream } from '../../../test/support/sessions/event-grammar.ts'
import { startScriptedUpstream } from '../../../test/support/upstream/scripted-upstream.ts'
import type { Deployment } from '../config/deployments.ts'
import type { AdapterFor } from './format-adapters.ts'

const upstream = await startScriptedUpstream({ script: [{ text: 'from upstream' }] })
const at = (alias: string, changes: Partial<Deployment> = {}) =>
  deploymentAt(upstream.url, { id: `${alias}.1`, alias, upstreamModel: alias, ...changes })
const app = await startGatewayApp({
  deployments: [
    at('opus'),
    at('anthropic/*', { upstreamModel: '*' }),
    at('anthropic/special-*', { upstreamModel: 'very-special-*' }),
    at('openrouter/*', { provider: 'openrouter', upstreamModel: '*' }),
    at('gpt', { provider: 'openai', protocols: ['openai-responses'] }),
  ],
  adapters: (adapterFor: AdapterFor) => (kind, model) =>
    model.deployment.provider === 'openai' ? undefined : adapterFor(kind, model),
})
after(async () => {
  await app.stop()
  await upstream.stop()
})

const messages = [{ role: 'user', content: 'hi' }]
const ask = { model: 'opus', max_tokens: 10, messages }

const invalidRequests = [
  ['an empty body', '', 400, 'the body is empty'],
  ['bad JSON', '{"model":', 400, 'request body is not valid JSON'],
  ['JSON that is not an object', '[1]', 400, 'the body must be a JSON object'],
  ['no model', { ...ask, model: undefined }, 400, 'model is required'],
  ['a model that is not a string', { ...ask, model: 5 }, 400, 'model must be a string'],
  ['H5: a model without end', { ...ask, model: 'claude'.repeat(200_000) }, 400, 'model is longer than 1000 characters'],
  ['no messages', { ...ask, messages: undefined }, 400, 'messages is required'],
  ['messages that are not an array', { ...ask, messages: 'hi' }, 400, 'messages must be an array'],
  ['no message', { ...ask, messages: [] }, 400, 'messages must not be empty'],
  ['no max_tokens', { ...ask, max_tokens: undefined }, 400, 'max_tokens is required'],
  ['half a token', { ...ask, max_tokens: 1.5 }, 400, 'max_tokens must be an integer'],
  ['max_tokens 0', { ...ask, max_tokens: 0 }, 400, 'max_tokens must be 1 or more'],
  ['a stream that is not a boolean', { ...ask, stream: 'yes' }, 400, 'stream must be a boolean'],
  ['only a prototype', `{"__proto__":${JSON.stringify(ask)}}`, 400, 'model is required'],
  ['model twice', '{"model":"opus","max_tokens":1,"messages":[1],"mod\\u0065l":"x"}', 400, 'model is given twice'],
  [
    'max_tokens twice',
    '{"model":"opus","max_tokens":1,"messages":[1],"max_tokens":9}',
    400,
    'max_tokens is given twice',
  ],
  [
    'stream twice',
    '{"stream":true,"model":"opus","max_tokens":1,"messages":[1],"stream":false}',
    400,
    'stream is given twice',
  ],
  ['an unknown model', { ...ask, model: 'nope' }, 404, 'model nope not found'],
  ['a wildcard as a name', { ...ask, model: 'opus*' }, 404, 'model opus* not found; did you mean opus?'],
] as const

for (const [name, body, status, message] of invalidRequests) {
  test(`E1: POST /v1/messages rejects ${name} with ${status} in Anthropic’s envelope`, async () => {
    const answer = await app.post(body)
    const { type, error, request_id } = (await answer.json()) as {
      type: string
      error: { type: string; message: string }
      request_id: string
    }
    assert.deepEqual([answer.status, type, error.message], [status, 'error', message])
    assert.equal(error.type, status === 404 ? 'not_found_error' : 'invalid_request_error')
    assert.equal(request_id, answer.headers.get('x-switchyard-request-id'))
  })
}

test('S26: POST /v1/messages accepts only uncompressed JSON', async () => {
  for (const type of [
    'text/plain',
    'application/jsonx',
    'application/vnd.api+json',
    'multipart/form-data; boundary=x',
  ]) {
    assert.equal((await app.post(ask, { headers: { 'content-type': type } })).status, 415, type)
  }
  assert.equal((await app.post(ask, { headers: { 'content-encoding': 'gzip' } })).status, 415)
  assert.equal((await app.post(ask, { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })).status, 200)
})

test('POST /v1/messages accepts unknown fields, roles and content', async () => {
  const odd = [...messages, { role: 'system', content: 'later' }, { role: 'new', content: [{ type: 'new' }] }]
  assert.equal((await app.post({ ...ask, messages: odd, thinking: { type: 'adaptive' }, x: null })).status, 200)
})

test('exact names take precedence over wildcards, and the longest wildcard over the others', async () => {
  const upstreamNameOf = async (model: string) => {
    await app.post({ ...ask, model })
    return upstream.requests.at(-1)?.body['model']
  }
  assert.equal(await upstreamNameOf('opus'), 'opus')
  assert.equal(await upstreamNameOf('anthropic/claude-x'), 'claude-x')
  assert.equal(await upstreamNameOf('anthropic/special-one'), 'very-special-one')
  assert.equal(await upstreamNameOf('openrouter/anthropic/claude-x'), 'anthropic/claude-x')
  assert.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer sk-provider-canary-0001')
})

test('E6: a streamed call to a model without a format adapter fails at once with its name', async () => {
  const answer = await app.post({ ...ask, model: 'gpt', stream: true })
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /model gpt uses protocol openai-responses, which this version does not support/)
})

test('calls of one alias are spread over its deployments by weight', async () => {
  const draws = [0.1, 0.7, 0.8, 0.9]
  const pair = await startGatewayApp({
    deployments: [at('m', { id: 'a', weight: 3 }), at('m', { id: 'b' }), at('m', { id: 'never', weight: 0 })],
    random: () => draws.shift() ?? 0,
  })
  after(() => pair.stop())
  const chosen: (string | null)[] = []
  for (const _ of [...draws])
    chosen.push((await pair.post({ ...ask, model: 'm' })).headers.get('x-switchyard-deployment'))
  assert.deepEqual(chosen, ['a', 'a', 'b', 'b'])
})

interface List {
  readonly data: readonly { readonly id: string; readonly display_name: string }[]
  readonly has_more: boolean
  readonly first_id: string | null
  readonly last_id: string | null
}

const list = async (query: string) => {
  const answer = await fetch(`${app.url}/v1/models${query}`)
  return { status: answer.status, body: (await answer.json()) as List }
}

test('G9: GET /v1/models?limit=1000 lists what can be called: names, known models of wildcards, the demo model', async () => {
  const { status, body } = await list('?limit=1000')
  const ids = body.data.map(({ id }) => id)
  assert.equal(status, 200)
  for (const id of ['opus', 'anthropic/claude-opus-5', 'openrouter/anthropic/claude-sonnet-5', 'demo'])
    assert.ok(ids.includes(id), id)
  assert.ok(!ids.includes('gpt') && ids.every(id => !id.includes('*')))
  assert.equal(new Set(ids).size, ids.length)
  assert.match(body.data.find(({ id }) => id === 'demo')?.display_name ?? '', /not a real model/)
  assert.deepEqual([body.has_more, body.first_id, body.last_id], [false, ids[0], ids.at(-1)])
})

test('GET /v1/models pages forward and backward without a gap', async () => {
  const { body } = await list('?limit=1000')
  const ids = body.data.map(({ id }) => id)
  const forward: string[] = []
  for (let page = (await list('?limit=2')).body; ; page = (await list(`?limit=2&after_id=${page.last_id}`)).body) {
    forward.push(...page.data.map(({ id }) => id))
    if (!page.has_more) break
  }
  assert.deepEqual(forward, ids)
  const before = (await list(`?limit=2&before_id=${ids[3]}`)).body
  assert.deepEqual([before.data.map(({ id }) => id), before.has_more], [ids.slice(1, 3), true])
  assert.equal((await list(`?before_id=${ids[1]}`)).body.has_more, false)
  assert.equal((await list('?after_id=nope')).status, 400)
  assert.equal((await list('?limit=1001')).status, 400)
  assert.equal((await list('?runtime=builtin')).status, 200)
  assert.equal((await list('?runtime=nope')).status, 400)
})

test('GET /v1/models/{id} accepts ids with slashes, plain or encoded, and those that only a wildcard covers', async () => {
  for (const path of [
    'demo',
    'anthropic/claude-opus-5',
    'anthropic%2Fclaude-opus-5',
    'openrouter/a/b',
    'openrouter%2Fa%2Fb',
  ]) {
    const answer = await fetch(`${app.url}/v1/models/${path}`)
    assert.equal(answer.status, 200, path)
    assert.equal(((await answer.json()) as { id: string }).id, decodeURIComponent(path))
  }
  const missing = await fetch(`${app.url}/v1/models/nope`)
  const { error } = (await missing.json()) as { error: unknown }
  assert.deepEqual([missing.status, error], [404, { type: 'not_found_error', message: 'model nope not found' }])
})

for (const [name, Client] of [
  ['1.x', Anthropic],
  ['0.x', AnthropicOld as unknown as typeof Anthropic],
] as const) {
  test(`Anthropic’s own client ${name} calls, streams, counts and lists`, async () => {
    const client = new Client({ baseURL: app.url, apiKey: 'any', maxRetries: 0 })
    const request = { model: 'opus', max_tokens: 50, messages: [{ role: 'user' as const, content: 'hi' }] }
    const whole = await client.messages.create(request)
    assert.deepEqual(whole.content, [{ type: 'text', text: 'from upstream' }])
    assert.equal(await client.messages.stream(request).finalText(), 'from upstream')
    assert.match(await client.messages.stream({ ...request, model: 'demo' }).finalText(), /no real model/)
    assert.deepEqual(await client.messages.countTokens(request), { input_tokens: 42 })
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 2 })) ids.push(model.id)
    assert.ok(ids.includes('opus') && ids.includes('demo'))
    assert.equal((await client.models.retrieve('anthropic/claude-opus-5')).display_name, 'Claude Opus 5')
    await assert.rejects(client.messages.create({ ...request, model: 'nope' }), { status: 404 })
  })
}

const tools = [
  { name: 'bash', input_schema: { type: 'object', properties: { command: { type: 'string' } } } },
  { name: 'write', input_schema: { type: 'object', properties: { file_path: {}, content: {} } } },
]

test('the demo model follows the prompt with real tool calls, then summarizes; it states that it is scripted', async () => {
  const prompt = 'Create hello.txt that says hello, then list the folder'
  const conversation: { role: string; content: unknown }[] = [{ role: 'user', content: prompt }]
  const turn = async () => {
    const answer = await app.post({ model: 'demo', max_tokens: 500, messages: conversation, tools, stream: true })
    const stream = readStream(await answer.text())
    conversation.push({ role: 'assistant', content: stream.content })
    return stream
  }
  const reply = (stream: Awaited<ReturnType<typeof turn>>, content: string) => {
    const { id } = stream.content.find(({ type }) => type === 'tool_use') ?? {}
    conversation.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] })
  }
  const first = await turn()
  assert.match(first.text, /scripted, no real model/)
  const call = first.content[1]
  assert.deepEqual(
    [call?.['name'], call?.['input'], first.stopReason],
    ['write', { file_path: 'hello.txt', content: 'hello' }, 'tool_use'],
  )
  assert.match(String(call?.['id']), /^[a-zA-Z0-9_-]+$/)
  reply(first, 'ok')
  const second = await turn()
  assert.deepEqual([second.content[1]?.['name'], second.content[1]?.['input']], ['bash', { command: 'ls -la' }])
  reply(second, 'total 4\nhello.txt')
  const third = await turn()
  assert.equal(third.stopReason, 'end_turn')
  assert.match(third.text, /scripted, no real model[\s\S]*hello\.txt/)
})

test('the demo model is booked like any other, streams every usage field, and gives the same answer without a stream', async () => {
  const request = { model: 'demo', max_tokens: 500, messages }
  const whole = (await (await app.post(request)).json()) as { content: unknown; usage: Record<string, unknown> }
  const before = app.booked.length
  const stream = readStream(await (await app.post({ ...request, stream: true })).text())
  assert.deepEqual(stream.content, whole.content)
  for (const field of ['cache_creation_input_tokens', 'cache_read_input_tokens', 'cache_creation'])
    assert.ok(field in stream.usage, field)
  assert.ok(Number(stream.usage['input_tokens']) > 0)
  const row = app.booked[before]
  assert.deepEqual(
    [row?.lane, row?.deployment, row?.outcome, row?.output_tokens],
    ['demo', 'demo', 'completed', stream.usage['output_tokens']],
  )
})

test('the demo model reports a failed tool call and stops', async () => {
  const failed = [
    { role: 'user', content: 'run `false`, then list the folder' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: {} }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't', is_error: true, content: [{ type: 'text', text: 'exit 1' }] }],
    },
  ]
  const answer = (await (await app.post({ model: 'demo', max_tokens: 500, messages: failed, tools })).json()) as {
    content: { text: string }[]
    stop_reason: string
  }
  assert.equal(answer.stop_reason, 'end_turn')
  assert.match(answer.content[0]?.text ?? '', /failed, so I stop here:\nexit 1/)
})

test('the demo model can be switched off', async () => {
  const without = await startGatewayApp({ demo: false })
  after(() => without.stop())
  assert.equal((await without.post({ ...ask, model: 'demo' })).status, 404)
})
