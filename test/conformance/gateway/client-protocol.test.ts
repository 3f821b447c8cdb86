import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Deployment, Protocols } from '../../../src/server/config/deployments.ts'
import type { Protocol } from '../../../src/server/config/protocols.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { anthropicMessages } from '../../support/upstream/dialects/anthropic-messages.ts'
import type { Dialect } from '../../support/upstream/dialects/dialect.ts'
import { gemini } from '../../support/upstream/dialects/gemini.ts'
import { openaiChat } from '../../support/upstream/dialects/openai-chat.ts'
import { openaiResponses } from '../../support/upstream/dialects/openai-responses.ts'
import { type Script, startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { chatMessages, chatParts, responseParts } from './openai-bodies.ts'

const both: Protocols = ['openai-responses', 'openai-chat']
const chatPath = '/v1/chat/completions'
const responsesPath = '/v1/responses'

interface Options {
  readonly dialect: Dialect
  readonly script?: Script
  readonly changes?: Partial<Deployment>
  /** Behind the address of the upstream. */
  readonly base?: string
}

/** A gateway with all models of one provider. Both end with the test. */
async function startProvider(t: TestContext, { dialect, script = [{}], changes, base = '/v1' }: Options) {
  const upstream = await startScriptedUpstream({ dialect, script })
  const all = { alias: 'all/*', upstreamModel: '*', provider: 'openai', protocols: both }
  const deployment = deploymentAt(`${upstream.url}${base}`, { ...all, ...changes })
  const app = await startGatewayApp({ deployments: [deployment], demo: false, assumedOutputTokensPerSecond: 1e9 })
  t.after(async () => {
    await app.stop()
    await upstream.stop()
  })
  return { app, upstream, last: () => upstream.requests.at(-1) ?? assert.fail('the upstream was called') }
}

const whole = '{ "id":"x","choices":[{"index":0,"logprobs":{"content":[]},"finish_reason":"stop"}],"new":1.0 }'
const wholeResponse =
  '{ "id":"x","status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":3},"new":1.0 }'
const chunks = [
  ': odd\n\n',
  'data:{"choices":[{"index":1,"delta":{"content":"a"},"logprobs":{"content":[]}}],"obfuscation":"zz"}\n\n',
  'data: {"choices":[{"index":1,"delta":{},"finish_reason":"stop"}],"usage":null, "service_tier":"flex"}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\ndata: [DONE]\n\n',
]
const events = [
  'event: response.created\ndata: {"type":"response.created","response":{"id":"x"},"sequence_number":0}\n\n',
  'event: response.event_of_tomorrow\ndata: {"type":"response.event_of_tomorrow", "a":1.0}\n\n',
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a"}\n\n',
  'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":7,"output_tokens":3}}}\n\n',
]

interface Verbatim {
  readonly path: string
  readonly dialect: Dialect
  readonly answer: { readonly whole: string; readonly frames: readonly string[] }
  /** The body between its first field, the model, and its end. */
  readonly rest: string
}

/** What a client sends arrives as it is but for the model's name; what comes back is what the upstream sent. */
async function passesVerbatim(t: TestContext, { path, dialect, answer, rest }: Verbatim): Promise<void> {
  for (const provider of ['openai', 'azure']) {
    for (const stream of ['', ', "stream":true']) {
      const script = [stream === '' ? { body: answer.whole } : { frames: answer.frames }]
      const { app, last } = await startProvider(t, { dialect, script, changes: { provider } })
      const response = await app.post(`{ "model" :"all/gpt-5.2",${rest}${stream}}`, { path })
      assert.equal(await response.text(), stream === '' ? answer.whole : answer.frames.join(''))
      assert.equal(response.headers.get('x-switchyard-degraded'), null)
      assert.equal(last().rawBody.toString(), `{ "model" :"gpt-5.2",${rest}${stream}}`)
      assert.equal(last().url, path)
      await app.bookedCalls(1)
      const [row] = app.booked
      assert.deepEqual([row?.lane, row?.protocol], ['raw', path === chatPath ? 'openai-chat' : 'openai-responses'])
      if (stream !== '') assert.deepEqual([row?.input_tokens, row?.output_tokens, row?.estimated], [7, 3, false])
    }
  }
}

const inChat = { path: chatPath, dialect: openaiChat, answer: { whole, frames: chunks } }
const hi = '"messages":[{"role":"user","content":"hi"}]'
for (const [name, part] of Object.entries(chatParts))
  test(`R5: a chat at OpenAI and Azure keeps ${name}`, t => passesVerbatim(t, { ...inChat, rest: `${part},${hi}` }))
for (const [name, messages] of Object.entries(chatMessages))
  test(`R5: a chat at OpenAI and Azure keeps ${name}`, t =>
    passesVerbatim(t, { ...inChat, rest: `"messages":${messages}` }))

const inResponses = { path: responsesPath, dialect: openaiResponses, answer: { whole: wholeResponse, frames: events } }
for (const [name, rest] of Object.entries(responseParts))
  test(`R6: a response of OpenAI and Azure keeps ${name}`, t => passesVerbatim(t, { ...inResponses, rest }))

for (const [model, provider, expected] of [
  ['gpt-4o', 'openai', 1],
  ['gpt-5.2', 'openai', 64],
  ['gpt-5.2', 'openai-compatible', 1],
] as const)
  test(`R5: a streamed chat of ${model} at ${provider} that states no usage is booked with what it may have thought, up to its limit`, async t => {
    const { app } = await startProvider(t, {
      dialect: openaiChat,
      script: [{ frames: [...chunks.slice(0, 3), 'data: [DONE]\n\n'] }],
      changes: { provider },
    })
    const body = { model: `all/${model}`, messages: [{ role: 'user', content: 'hi' }], max_completion_tokens: 64 }
    await (await app.post({ ...body, stream: true }, { path: chatPath })).text()
    await app.bookedCalls(1)
    const [row] = app.booked
    assert.deepEqual([row?.outcome, row?.output_tokens, row?.estimated], ['completed', expected, true])
    assert.ok((row?.input_tokens ?? 0) > 0)
  })

interface Called {
  readonly client: 'chat' | 'responses' | 'messages'
  readonly model?: string
  readonly changes?: Partial<Deployment>
  readonly base?: string
  /** Where the call arrives, and in what. */
  readonly path: string
  readonly protocol: Protocol
}

const dialects = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
} as Partial<Record<Protocol, Dialect>>
const clients = {
  chat: { path: chatPath, body: { messages: [{ role: 'user', content: 'hi' }] } },
  responses: { path: responsesPath, body: { input: 'hi' } },
  messages: { path: '/v1/messages', body: { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] } },
}

/** A call, whole and streamed, is answered with text in the client's format by way of `protocol`. */
async function arrives(t: TestContext, { client, model = 'gpt-5.2', path, protocol, ...rest }: Called): Promise<void> {
  const dialect = dialects[protocol] ?? assert.fail(`no dialect of ${protocol}`)
  const { app, last } = await startProvider(t, { dialect, script: [{ text: 'the answer' }], ...rest })
  const { path: from, body } = clients[client]
  for (const stream of [false, true]) {
    const response = await app.post({ model: `all/${model}`, ...body, stream }, { path: from })
    assert.match(await response.text(), /the answer/)
    assert.equal(response.status, 200)
    assert.equal(last().url, path)
  }
  await app.bookedCalls(2)
  const isSame =
    protocol === { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic-messages' }[client]
  for (const row of app.booked) assert.deepEqual([row.protocol, row.lane], [protocol, isSame ? 'raw' : 'translated'])
  const credential = { [last().headers['x-api-key'] ? 'x-api-key' : 'bearer']: true }
  const isAnthropicApi = protocol === 'anthropic-messages' && rest.changes?.provider === 'anthropic'
  assert.deepEqual(credential, { [isAnthropicApi ? 'x-api-key' : 'bearer']: true })
}

const chat = { path: chatPath, protocol: 'openai-chat' } as const
const responses = { path: responsesPath, protocol: 'openai-responses' } as const
const messages = { path: '/v1/messages', protocol: 'anthropic-messages' } as const
const pinned = (protocol: Protocol): Partial<Deployment> => ({ protocols: [protocol] })

const pins: readonly (readonly [name: string, Called])[] = [
  ['a chat, pinned to Responses', { client: 'chat', changes: pinned('openai-responses'), ...responses }],
  ['a response, pinned to Chat', { client: 'responses', changes: pinned('openai-chat'), ...chat }],
  ['Messages, pinned to Chat', { client: 'messages', changes: pinned('openai-chat'), ...chat }],
  ['Messages, by the default', { client: 'messages', ...responses }],
  [
    'Messages, by another default',
    { client: 'messages', changes: { protocols: ['openai-chat', 'openai-responses'] }, ...chat },
  ],
]
for (const [name, called] of pins) test(`R7: translated to what the upstream speaks: ${name}`, t => arrives(t, called))

for (const model of [
  'gpt-5-pro',
  'gpt-5.2-pro-2025-12-11',
  'gpt-5.1-codex-max',
  'codex-mini-latest',
  'o3-pro',
  'o4-mini-deep-research',
])
  test(`R7: ${model}, which OpenAI serves in Responses alone, answers a chat`, t =>
    arrives(t, { client: 'chat', model, ...responses }))
for (const model of ['gpt-4o-search-preview', 'gpt-4o-mini-audio-preview', 'gpt-audio', 'gpt-5-search-api'])
  test(`R7: ${model}, which OpenAI serves in Chat alone, answers Responses and Messages`, async t => {
    await arrives(t, { client: 'responses', model, ...chat })
    await arrives(t, { client: 'messages', model, ...chat })
  })

test('R7: a chat that falls back from OpenAI to Anthropic is passed on first and translated then', async t => {
  const openai = await startScriptedUpstream({ dialect: openaiChat, script: [{ status: 500, error: 'down' }] })
  const anthropic = await startScriptedUpstream({ dialect: anthropicMessages, script: [{ text: 'the answer' }] })
  const app = await startGatewayApp({
    deployments: [
      deploymentAt(`${openai.url}/v1`, { id: 'o.1', alias: 'gpt', provider: 'openai', protocols: both }),
      deploymentAt(anthropic.url, { id: 'a.1', alias: 'claude' }),
    ],
    router: { retries: 0, fallbacks: { gpt: ['claude'] } },
    demo: false,
  })
  t.after(async () => {
    for (const server of [app, openai, anthropic]) await server.stop()
  })
  const answer = await app.post({ model: 'gpt', ...clients.chat.body, seed: 7 }, { path: chatPath })
  assert.match(await answer.text(), /the answer/)
  assert.match(answer.headers.get('x-switchyard-degraded') ?? '', /seed=dropped/)
  assert.equal(
    openai.requests[0]?.rawBody.toString(),
    '{"model":"test-model","messages":[{"role":"user","content":"hi"}],"seed":7}',
  )
  await app.bookedCalls(1)
  assert.deepEqual([app.booked[0]?.lane, app.booked[0]?.protocol], ['translated', 'anthropic-messages'])
})

for (const provider of ['openrouter', 'ollama', 'openai-compatible']) {
  const order: Protocols =
    provider === 'openai-compatible' ? ['openai-chat', 'anthropic-messages'] : ['anthropic-messages', 'openai-chat']
  const at = { changes: { provider, protocols: order }, base: '/api' }
  test(`R8: ${provider} with Messages and Chat below one address gets each client's own format`, async t => {
    await arrives(t, { client: 'chat', ...at, ...chat, path: `/api${chatPath}` })
    await arrives(t, { client: 'messages', ...at, ...messages, path: '/api/v1/messages' })
    const other = order[0] === 'openai-chat' ? chat : messages
    await arrives(t, { client: 'responses', ...at, ...other, path: `/api${other.path}` })
  })
}

test('R8: Anthropic serves Messages alone: OpenAI’s formats are translated, its own is passed on', async t => {
  const at = { changes: { provider: 'anthropic', protocols: ['anthropic-messages'] as const }, base: '' }
  for (const client of ['chat', 'responses', 'messages'] as const) await arrives(t, { client, ...at, ...messages })
})

test('R8: Anthropic listed with its compatible Chat gets its key as each of the two wants it', async t => {
  const at = { changes: { provider: 'anthropic', protocols: ['anthropic-messages', 'openai-chat'] as const }, base: '' }
  await arrives(t, { client: 'chat', ...at, ...chat })
  await arrives(t, { client: 'messages', ...at, ...messages })
})

test('R8: Gemini listed with Chat gets chats at Google’s compatible address, as they are', async t => {
  const changes = { provider: 'gemini', protocols: ['gemini', 'openai-chat'] as const }
  await arrives(t, { client: 'chat', changes, base: '', ...chat, path: '/v1beta/openai/chat/completions' })
  const { app, last } = await startProvider(t, { dialect: gemini, changes, base: '' })
  await app.post(
    { contents: [{ parts: [{ text: 'hi' }] }] },
    { path: '/v1beta/models/all/gemini-3-pro:generateContent' },
  )
  assert.equal(last().url, '/v1beta/models/gemini-3-pro:generateContent')
  assert.equal(last().headers['x-goog-api-key'], 'sk-provider-canary-0001')
})
