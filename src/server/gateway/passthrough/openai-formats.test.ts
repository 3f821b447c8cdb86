import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import {
  jsonAnswer,
  type RawRequest,
  startByteServer,
  streamHead,
} from '../../../../test/support/upstream/byte-server.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'
import type { CallKind, Outcome } from '../core/call.ts'
import { openAiChat, openAiEmbeddings, openAiResponses } from './openai.ts'
import type { PassthroughFormat } from './passthrough-format.ts'

const formats = { chat: openAiChat, responses: openAiResponses, embeddings: openAiEmbeddings } as const
type Kind = CallKind & keyof typeof formats

/** Passthrough to a server that responds with `bytes`. */
async function passthroughTo(
  bytes: string,
  kind: Kind,
  {
    format = formats[kind] as PassthroughFormat,
    ...changes
  }: Partial<Deployment> & { format?: PassthroughFormat } = {},
) {
  const requests: RawRequest[] = []
  const server = await startByteServer((socket, request) => {
    requests.push(request)
    socket.end(bytes)
  })
  const protocol: Protocol = kind === 'responses' ? 'openai-responses' : 'openai-chat'
  const deployment = deploymentAt(`${server.url}/v1`, {
    provider: 'openai',
    protocols: [protocol],
    alias: 'gpt',
    upstreamModel: 'gpt',
    ...changes,
  })
  const probe = probeMode({ format, deployment })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  const call = (request: object | string, part: Parameters<typeof probe.call>[2] = {}) =>
    probe.call(kind, request, part)
  return { call, requests }
}

const ofCall = {
  chat: { messages: [{ role: 'user', content: 'hi' }] },
  responses: { input: 'hi' },
  embeddings: { input: 'hi' },
}
const usageOf = (ending: unknown) => (ending as Outcome).usage
const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'gpt', ...fields })}\n\n`
const said = (delta: object, reason: string | null = null, index = 0) =>
  chunk({ choices: [{ index, delta, finish_reason: reason }] })
const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const paths = [
  ['chat', '/v1/chat/completions'],
  ['responses', '/v1/responses'],
  ['embeddings', '/v1/embeddings'],
] as const

for (const [kind, path] of paths) {
  test(`R3: ${kind}: the request is sent to ${path}; only the model string changes`, async () => {
    const { call, requests } = await passthroughTo(jsonAnswer('{"id":1.0}'), kind, { upstreamModel: 'gpt-5.6' })
    const rest = `"x":1e5, "u":"\\u00e9",${JSON.stringify(ofCall[kind]).slice(1, -1)}}`
    const { text, status } = await call(`{ "model":"gpt",${rest}`)
    assert.deepEqual([status, text], [200, '{"id":1.0}'])
    assert.equal(requests[0]?.body, `{ "model":"gpt-5.6",${rest}`)
    assert.match(requests[0]?.head ?? '', new RegExp(`^POST ${path} HTTP`))
  })
}

test('OpenAI’s headers are forwarded with the deployment’s credential; headers that name an account are not', async () => {
  const { call, requests } = await passthroughTo(jsonAnswer('{}'), 'chat')
  const headers = {
    'openai-beta': 'x=v1',
    'openai-organization': 'org',
    'openai-project': 'p',
    authorization: 'Bearer caller',
    'anthropic-beta': 'b',
    cookie: 'c',
  }
  await call({ model: 'gpt', ...ofCall.chat }, { headers })
  const head = requests[0]?.head ?? ''
  assert.match(head, /authorization: Bearer sk-provider-canary-0001/)
  assert.match(head, /openai-beta: x=v1/)
  assert.doesNotMatch(head, /openai-organization|openai-project|caller|anthropic|cookie/)
})

test('Azure: requests have no api-version, and the key is in the api-key header', async () => {
  const { call, requests } = await passthroughTo(jsonAnswer('{}'), 'chat', { provider: 'azure' })
  await call({ model: 'gpt', ...ofCall.chat }, { query: '?api-version=2024-10-21' })
  assert.match(requests[0]?.head ?? '', /^POST \/v1\/chat\/completions HTTP/)
  assert.match(requests[0]?.head ?? '', /api-key: sk-provider-canary-0001/)
})

test('E3: rate limits, retry-after, x-should-retry, request id and duration are relayed; the name of the account is not', async () => {
  const more = [
    'x-ratelimit-remaining-tokens: 7',
    'retry-after-ms: 20',
    'x-should-retry: false',
    'x-request-id: up_1',
    'openai-processing-ms: 5',
    'openai-organization: org',
    'set-cookie: a',
  ]
  const { call } = await passthroughTo(
    jsonAnswer('{"error":{"message":"slow"}}', '429 Too Many Requests', more),
    'chat',
  )
  const { ending } = await call({ model: 'gpt', ...ofCall.chat })
  assert.ok(ending?.outcome === 'refused')
  assert.equal(ending.body.toString(), '{"error":{"message":"slow"}}')
  const {
    'x-ratelimit-remaining-tokens': left,
    'request-id': id,
    'openai-organization': org,
    'set-cookie': cookie,
  } = ending.headers
  assert.deepEqual(
    [left, id, ending.headers['x-request-id'], ending.headers['retry-after-ms'], org, cookie],
    ['7', 'up_1', 'up_1', '20', undefined, undefined],
  )
  assert.equal(ending.headers['x-should-retry'], 'false')
})

const reasons = [
  [
    '{"error":{"message":"This model\'s maximum context length is 8 tokens","code":"context_length_exceeded"}}',
    'context_window',
  ],
  ['{"error":{"message":"The response was filtered","code":"content_filter"}}', 'policy'],
  ['{"error":{"message":"Unknown parameter: x","code":"unknown_parameter"}}', undefined],
] as const

for (const [body, reason] of reasons) {
  test(`an upstream error has the reason ${reason}: ${body.slice(9, 60)}`, async () => {
    const { call } = await passthroughTo(jsonAnswer(body, '400 Bad Request'), 'chat')
    const { ending } = await call({ model: 'gpt', ...ofCall.chat })
    assert.equal(ending?.outcome === 'refused' ? ending.reason : 'none', reason)
  })
}

test('a request with a prompt that the upstream stores needs no input', async () => {
  const { call, requests } = await passthroughTo(jsonAnswer('{"id":"r"}'), 'responses')
  const request = '{"model":"gpt","prompt":{"id":"pmpt_1"}}'
  assert.deepEqual([(await call(request)).status, requests[0]?.body], [200, request])
})

const details = {
  prompt_tokens: 100,
  completion_tokens: 9,
  total_tokens: 109,
  prompt_tokens_details: { cached_tokens: 60 },
}
const stated = {
  input_tokens: 40,
  cache_read_tokens: 60,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 9,
  reasoning_tokens: 0,
  web_searches: 0,
  file_searches: 0,
  code_containers: 0,
  estimated: false,
}
/** With the reasoning tokens and searches that a response reports. */
const statedByResponse = { ...stated, reasoning_tokens: 4, web_searches: 2 }
const ofResponse = {
  input_tokens: 100,
  output_tokens: 9,
  total_tokens: 109,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens_details: { reasoning_tokens: 4 },
}
const searches = [{ type: 'web_search_call', id: 'ws_1' }, { type: 'message' }, { type: 'web_search_call', id: 'ws_2' }]
const answer = { id: 'r', object: 'response', status: 'completed', output: searches, usage: ofResponse }

const wholes = [
  ['chat', { choices: [{ finish_reason: 'length', message: { content: 'a' } }], usage: details }, stated, 'length'],
  ['responses', answer, statedByResponse, 'completed'],
  [
    'responses',
    { ...answer, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    statedByResponse,
    'max_output_tokens',
  ],
  [
    'embeddings',
    { data: [], usage: { prompt_tokens: 8, total_tokens: 8 } },
    { ...stated, input_tokens: 8, cache_read_tokens: 0, output_tokens: 0 },
    undefined,
  ],
  [
    'embeddings',
    { data: [], usage: { total_tokens: 7 } },
    { ...stated, input_tokens: 7, cache_read_tokens: 0, output_tokens: 0 },
    undefined,
  ],
] as const

for (const [kind, body, usage, reason] of wholes) {
  test(`U3, U7: ${kind}: a whole response is booked as ${reason ?? 'input only'}; cached prompt tokens are subtracted`, async () => {
    const { call } = await passthroughTo(jsonAnswer(JSON.stringify(body)), kind)
    const { ending, text } = await call({ model: 'gpt', ...ofCall[kind] })
    assert.deepEqual([usageOf(ending), (ending as Outcome).stopReason, text], [usage, reason, JSON.stringify(body)])
  })
}

const chatStream = [
  ': OPENROUTER PROCESSING\n\n',
  said({ role: 'assistant', content: '' }),
  said({ content: 'Hel' }),
  said({ content: 'lo "usage":{"finish_reason"' }),
  said({}, 'stop'),
].join('')
const done = 'data: [DONE]\n\n'

const streams: readonly (readonly [string, Kind, string, object])[] = [
  [
    'Chat with usage',
    'chat',
    `${chatStream}${chunk({ choices: [], usage: details })}${done}`,
    { usage: stated, stopReason: 'stop', outcome: 'completed' },
  ],
  [
    'Chat with usage in the last chunk, and no [DONE]',
    'chat',
    `${said({ content: 'a' })}${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: details })}`,
    { usage: stated, stopReason: 'tool_calls', outcome: 'completed' },
  ],
  [
    'Chat with the tier that served it',
    'chat',
    `${said({ content: 'a' })}${said({}, 'stop')}${chunk({ choices: [], usage: details, service_tier: 'priority' })}${done}`,
    { usage: { ...stated, tier: 'priority' }, stopReason: 'stop', outcome: 'completed' },
  ],
  [
    'Responses with the tier that served it',
    'responses',
    `${event('response.created', { response: { service_tier: 'auto' } })}${event('response.output_text.delta', { delta: 'a' })}${event('response.completed', { response: { ...answer, service_tier: 'flex' } })}`,
    { usage: { ...statedByResponse, tier: 'flex' }, stopReason: 'completed', outcome: 'completed' },
  ],
  [
    'Chat with usage in x_groq',
    'chat',
    `${said({ content: 'a' })}${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq: { id: 'g', usage: details } })}${done}`,
    { usage: stated, stopReason: 'stop', outcome: 'completed' },
  ],
  [
    'Chat with usage in the choice',
    'chat',
    `${said({ content: 'a' })}${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: details }] })}${done}`,
    { usage: stated, stopReason: 'stop', outcome: 'completed' },
  ],
  [
    'Responses',
    'responses',
    `${event('response.created')}${event('response.output_text.delta', { delta: 'Hello' })}${event('response.completed', { response: answer })}`,
    { usage: statedByResponse, stopReason: 'completed', outcome: 'completed' },
  ],
  [
    'Responses that end incomplete',
    'responses',
    `${event('response.created')}${event('response.output_text.delta', { delta: 'a' })}${event('response.incomplete', { response: { ...answer, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } })}`,
    { usage: statedByResponse, stopReason: 'max_output_tokens', outcome: 'completed' },
  ],
  [
    'Responses that fail after content',
    'responses',
    `${event('response.output_text.delta', { delta: 'a' })}${event('response.failed', { response: { ...answer, status: 'failed', error: { code: 'server_error', message: 'x' } } })}`,
    { usage: statedByResponse, stopReason: 'failed', outcome: 'failed' },
  ],
  [
    'Responses whose last event is longer than the frame buffer',
    'responses',
    `${event('response.web_search_call.completed').repeat(2)}${event('response.output_text.delta', { delta: 'a' })}${event('response.completed', { response: { id: 'r', instructions: 'x'.repeat(300_000), service_tier: 'flex', usage: ofResponse, metadata: {} } })}`,
    { usage: { ...statedByResponse, tier: 'flex' }, stopReason: 'completed', outcome: 'completed' },
  ],
]

for (const [what, kind, body, expected] of streams) {
  test(`R2, U3: ${what}: the stream is relayed byte for byte and booked with its usage`, async () => {
    const { call } = await passthroughTo(streamHead() + body, kind)
    const { ending, text } = await call({ model: 'gpt', stream: true, ...ofCall[kind] })
    assert.equal(text, body)
    const { usage, stopReason, outcome } = ending as Outcome
    if (!what.includes('longer')) assert.deepEqual({ usage, stopReason, outcome }, expected)
    else assert.deepEqual(usage, { ...statedByResponse, tier: 'flex' })
  })
}

test('U6: without include_usage the stream is relayed unchanged and booked with an estimate', async () => {
  const body = `${chatStream}${done}`
  const { call, requests } = await passthroughTo(streamHead() + body, 'chat')
  const request = JSON.stringify({
    model: 'gpt',
    stream: true,
    messages: [{ role: 'user', content: 'word '.repeat(200) }],
  })
  const { ending, text } = await call(request)
  assert.deepEqual([text, requests[0]?.body], [body, request])
  const { input_tokens: input, output_tokens: output, estimated } = usageOf(ending)
  assert.ok(estimated && input > 200 && input < 400 && output > 0 && output < 30, JSON.stringify(usageOf(ending)))
})

test('an estimate counts an image as an image, not as text', async () => {
  const { call } = await passthroughTo(streamHead() + chatStream, 'chat')
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(200_000)}` } }
  const { ending } = await call({ model: 'gpt', stream: true, messages: [{ role: 'user', content: [image] }] })
  assert.ok(usageOf(ending).input_tokens < 3_000)
})

const cuts = [
  [
    'chat',
    said({ content: 'Hel' }),
    /^data: \{"error":\{"message":"the upstream of model gpt [^"]*","type":"server_error","param":null,"code":"server_error"\}\}\n\n$/,
  ],
  [
    'responses',
    event('response.created') + event('response.output_text.delta', { delta: 'Hel' }),
    /^event: error\ndata: \{"type":"error","code":"server_error","message":"[^"]*","param":null,"sequence_number":2\}\n\n$/,
  ],
] as const

for (const [kind, body, told] of cuts) {
  test(`E5: ${kind}: a truncated stream ends with one error in the client’s format`, async () => {
    const { call } = await passthroughTo(`${streamHead()}${body}data: {"cut`, kind)
    const { ending, text, ends } = await call({ model: 'gpt', stream: true, ...ofCall[kind] })
    assert.ok(text.startsWith(body))
    assert.match(text.slice(body.length), told)
    assert.deepEqual([ending?.outcome, ends, (ending as Outcome).usage.estimated], ['failed', 1, true])
  })
}

test('a stream with several choices is complete when each choice has ended', async () => {
  const both = said({ content: 'a' }) + said({ content: 'b' }, null, 1) + said({}, 'stop')
  const cut = await passthroughTo(streamHead() + both, 'chat')
  assert.equal((await cut.call({ model: 'gpt', n: 2, stream: true, ...ofCall.chat })).ending?.outcome, 'failed')
  const whole = await passthroughTo(streamHead() + both + said({}, 'stop', 1), 'chat')
  assert.equal((await whole.call({ model: 'gpt', n: 2, stream: true, ...ofCall.chat })).ending?.outcome, 'completed')
})

test('E7: pings to OpenAI’s clients are comments', () => {
  assert.equal(openAiChat.ping.toString(), ': ping\n\n')
  assert.equal(openAiResponses.ping.toString(), ': ping\n\n')
})
