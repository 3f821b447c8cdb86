import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { readChatStream, readResponseStream } from '../../../../test/support/upstream/openai-streams.ts'
import type { Answer } from '../../../../test/support/upstream/scripted-answer.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'

let next: Answer = {}
const upstream = await startScriptedUpstream({ script: () => next })
const app = await startGatewayApp({
  deployments: [deploymentAt(upstream.url)],
  router: { retries: 0 },
  pingAfterMs: 20,
})
after(async () => {
  await app.stop()
  await upstream.stop()
})

const paths = { chat: '/v1/chat/completions', responses: '/v1/responses', embeddings: '/v1/embeddings' } as const
const bodies = {
  chat: { model: 'test-model', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'test-model', input: 'hi' },
  embeddings: { model: 'test-model', input: 'hi' },
}

/** Calls with the script's next answer. */
async function ask(kind: keyof typeof paths, request: object = {}, answer: Answer = {}) {
  next = answer
  const response = await app.post({ ...bodies[kind], ...request }, { path: paths[kind] })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as Body }
}

interface Body {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: null
    readonly code: string | null
  }
  readonly output: readonly Readonly<Record<string, unknown>>[]
  readonly choices: readonly { readonly message: object; readonly finish_reason: string }[]
}

const refused: readonly (readonly [keyof typeof paths, object | string, number, string])[] = [
  ['chat', { model: 5 }, 400, 'model must be a string'],
  ['chat', { messages: [] }, 400, 'messages must not be empty'],
  ['chat', { messages: 'hi' }, 400, 'messages must be an array'],
  ['chat', { stream: 'yes' }, 400, 'stream must be a boolean'],
  ['chat', { max_completion_tokens: 1.5 }, 400, 'max_completion_tokens must be an integer'],
  ['chat', { max_tokens: 0 }, 400, 'max_tokens must be 1 or more'],
  [
    'chat',
    '{"model":"a","messages":[1],"max_completion_tokens":1,"max_completion_token\\u0073":9}',
    400,
    'max_completion_tokens is given twice',
  ],
  ['chat', { model: 'nope' }, 404, 'model nope not found'],
  ['responses', { input: undefined }, 400, 'input is required'],
  ['responses', { input: undefined, prompt: null }, 400, 'input is required'],
  [
    'responses',
    { input: undefined, prompt: { id: 'pmpt_1' } },
    400,
    'prompt is not supported; send the whole input instead',
  ],
  ['responses', { instructions: [{ role: 'developer', content: 'x' }] }, 400, 'instructions must be a string'],
  ['responses', { input: 5 }, 400, 'input must be a string or an array'],
  ['responses', { input: [] }, 400, 'input must not be empty'],
  ['responses', { max_output_tokens: 'many' }, 400, 'max_output_tokens must be an integer'],
  [
    'responses',
    '{"model":"a","input":"x","max_output_tokens":1,"max_output_tokens":9}',
    400,
    'max_output_tokens is given twice',
  ],
  ['responses', '[', 400, 'request body is not valid JSON'],
  ['embeddings', { input: [] }, 400, 'input must not be empty'],
  [
    'embeddings',
    {},
    400,
    'model test-model does not support /v1/embeddings; it supports /v1/messages, /v1/chat/completions, /v1/responses, /v1/responses/compact, /v1beta/models/{model}:generateContent',
  ],
]

for (const [kind, request, status, message] of refused) {
  test(`E1: POST ${paths[kind]} rejects with ${status} in OpenAI’s format: ${message}`, async () => {
    const body = typeof request === 'string' ? request : { ...bodies[kind], ...request }
    const answer = await app.post(body, { path: paths[kind] })
    const { error } = (await answer.json()) as Body
    const code = status === 404 ? 'model_not_found' : null
    assert.deepEqual([answer.status, error], [status, { message, type: 'invalid_request_error', param: null, code }])
    assert.equal(answer.headers.get('x-request-id'), answer.headers.get('request-id'))
  })
}

test('an unknown path below OpenAI’s answers in its format', async () => {
  const answer = await fetch(`${app.url}/v1/responses/resp_1/nothing`)
  assert.deepEqual(
    [answer.status, Object.keys(((await answer.json()) as Body).error)],
    [404, ['message', 'type', 'param', 'code']],
  )
})

test('E3: an upstream error keeps status and retry-after, and its message has no envelope', async () => {
  const headers = { 'retry-after': '7', 'anthropic-ratelimit-requests-remaining': '0' }
  const body = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } })
  for (const kind of ['chat', 'responses'] as const) {
    const answer = await ask(kind, { stream: true, seed: 5 }, { status: 429, headers, body })
    assert.equal(answer.status, 429)
    assert.equal(answer.headers.get('retry-after'), '7')
    assert.equal(answer.headers.get('x-switchyard-error-source'), 'upstream')
    assert.match(answer.headers.get('x-switchyard-degraded') ?? '', /seed=dropped/)
    const expected = { message: 'Slow down', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' }
    assert.deepEqual(answer.json(), { error: expected })
  }
})

test('an upstream error and an unreadable answer are errors in OpenAI’s format', async () => {
  const html = await ask('chat', {}, { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>Down</h1>' })
  assert.deepEqual([html.status, html.json().error.message], [503, 'upstream returned status 503'])
  assert.match(html.headers.get('content-type') ?? '', /^application\/json/)
  const nonsense = await ask('responses', {}, { body: '{"content":5}' })
  assert.equal(nonsense.status, 502)
  assert.equal(nonsense.json().error.type, 'server_error')
})

test('degradations of the request are in the header and in the ledger', async () => {
  const answer = await ask('chat', { seed: 1, logit_bias: {} })
  assert.equal(answer.headers.get('x-switchyard-degraded'), 'seed=dropped, logit_bias=dropped')
  assert.equal(answer.headers.get('x-switchyard-deployment'), 'test.1')
  assert.equal(app.booked.at(-1)?.outcome, 'completed')
})

test('E7: pings are comments, which clients ignore', async () => {
  const chat = ask('chat', { stream: true }, { text: 'One two three four five six.', chunkDelayMs: 60 })
  const { text } = await chat
  assert.match(text, /^: ping$/m)
  assert.equal(readChatStream(text).text, 'One two three four five six.')
})

test('E9: a client that disconnects aborts the upstream', async () => {
  next = { text: 'x', pauseAtFrame: 4 }
  const leave = new AbortController()
  const before = upstream.requests.length
  const request = { ...bodies.responses, stream: true }
  const answer = await app.post(request, { path: paths.responses, signal: leave.signal })
  assert.equal(answer.status, 200)
  leave.abort()
  await upstream.requests[before]?.closed
  upstream.release()
})

test('the older form of tools gets one function_call', async () => {
  const request = { functions: [{ name: 'f', parameters: { type: 'object' } }] }
  const call: Answer = { tool_calls: [{ name: 'f', input: { a: 1 } }] }
  const { choices } = (await ask('chat', request, call)).json()
  assert.deepEqual(choices, [
    {
      index: 0,
      message: { role: 'assistant', content: null, refusal: null, function_call: { name: 'f', arguments: '{"a":1}' } },
      logprobs: null,
      finish_reason: 'function_call',
    },
  ])
})

test('calls of a chat’s custom tools have text input again, also when streamed', async () => {
  const tools = [{ type: 'custom', custom: { name: 'write', description: 'd' } }]
  const input = 'line one\n"two" \\ \u{1F600}'
  const call: Answer = { tool_calls: [{ name: 'write', input: { input } }] }
  const { choices } = (await ask('chat', { tools }, call)).json()
  const { tool_calls: calls = [] } = (choices[0]?.message ?? {}) as { tool_calls?: object[] }
  assert.deepEqual(calls, [{ id: (calls[0] as { id: string }).id, type: 'custom', custom: { name: 'write', input } }])
  const { text } = await ask('chat', { tools, stream: true }, call)
  const pieces = [...text.matchAll(/"custom":\{"input":("(?:[^"\\]|\\.)*")\}/g)].map(
    ([, json]) => JSON.parse(json ?? '') as string,
  )
  assert.ok(pieces.length > 1)
  assert.equal(pieces.join(''), input)
})

const clientCalls: readonly (readonly [object, Answer, object])[] = [
  [
    { type: 'local_shell' },
    { tool_calls: [{ id: 'c', name: 'local_shell', input: { command: ['ls'] } }] },
    {
      type: 'local_shell_call',
      action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: null, user: null, working_directory: null },
    },
  ],
  [
    { type: 'shell', environment: { type: 'local' } },
    { tool_calls: [{ id: 'c', name: 'shell', input: { commands: ['ls'], timeout_ms: 5 } }] },
    { type: 'shell_call', action: { commands: ['ls'], timeout_ms: 5, max_output_length: null }, environment: null },
  ],
  [
    { type: 'apply_patch' },
    { tool_calls: [{ id: 'c', name: 'apply_patch', input: { type: 'update_file', path: 'a', diff: '@@' } }] },
    { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a', diff: '@@' } },
  ],
  [
    { type: 'tool_search', execution: 'client', description: 'd', parameters: { type: 'object' } },
    { tool_calls: [{ id: 'c', name: 'tool_search', input: { query: 'q' } }] },
    { type: 'tool_search_call', execution: 'client', arguments: { query: 'q' } },
  ],
  [
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] },
    { tool_calls: [{ id: 'c', name: 'n__f', input: {} }] },
    { type: 'function_call', name: 'f', namespace: 'n', arguments: '{}' },
  ],
]

for (const [tool, answer, expected] of clientCalls) {
  test(`a call of a tool of type ${(tool as { type: string }).type} is an item of the matching type`, async () => {
    const { text } = await ask('responses', { tools: [tool], stream: true }, answer)
    const [item, ...others] = readResponseStream(text).output
    assert.deepEqual(others, [])
    const { id, ...rest } = item ?? {}
    assert.match(String(id), /^\w+_/)
    assert.deepEqual(rest, { call_id: 'c', status: 'completed', ...expected })
  })
}

test('a call truncated by the token limit is an incomplete item of an incomplete response', async () => {
  const cut: Answer = { text: 'a', tool_calls: [{ name: 'f', input: {} }], stopReason: 'max_tokens' }
  const { output, response } = readResponseStream((await ask('responses', { stream: true }, cut)).text)
  assert.deepEqual(
    [output.map(({ status }) => status), response['status']],
    [['completed', 'incomplete'], 'incomplete'],
  )
})

test('a search by the provider is an item; unknown blocks are omitted', async () => {
  const content = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'redacted_thinking', data: 'xyz' },
    { type: 'text', text: 'found' },
  ]
  const body = JSON.stringify({ type: 'message', model: 'x', content, stop_reason: 'end_turn', usage: {} })
  const { output } = (await ask('responses', {}, { body })).json()
  assert.deepEqual(
    output.map(({ type }) => type),
    ['web_search_call', 'reasoning', 'message'],
  )
  assert.deepEqual(output[0]?.['action'], { type: 'search', query: 'q' })
})
