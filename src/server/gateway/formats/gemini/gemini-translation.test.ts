import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../../test/support/gateway/gateway-app.ts'
import { readGeminiArray, readGeminiStream } from '../../../../../test/support/upstream/gemini-streams.ts'
import type { Answer } from '../../../../../test/support/upstream/scripted-answer.ts'
import { startScriptedUpstream } from '../../../../../test/support/upstream/scripted-upstream.ts'

let next: Answer = {}
const upstream = await startScriptedUpstream({ script: () => next })
const uncounted = await startScriptedUpstream({ countTokens: 'absent' })
const app = await startGatewayApp({
  deployments: [
    deploymentAt(upstream.url),
    deploymentAt(uncounted.url, { id: 'test.2', alias: 'a/b:c', upstreamModel: 'b' }),
  ],
  router: { retries: 0 },
  pingAfterMs: 20,
})
after(async () => {
  await app.stop()
  await upstream.stop()
  await uncounted.stop()
})

const hi = { contents: [{ parts: [{ text: 'hi' }] }] }

/** Calls a method of the model. The scripted upstream returns `answer`. */
async function ask(method: string, request: object | string = {}, answer: Answer = {}) {
  next = answer
  const path = `/v1beta/models/${/[/%]/.test(method) ? method : `test-model:${method}`}`
  const response = await app.post(typeof request === 'string' ? request : { ...hi, ...request }, { path })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as Body }
}

interface Body {
  readonly error: { readonly code: number; readonly message: string; readonly status: string }
  readonly candidates: readonly Readonly<Record<string, unknown>>[]
  readonly promptFeedback?: object
  readonly totalTokens: number
}

const streaming = 'streamGenerateContent?alt=sse'

const noSuchMethod =
  'unknown method; use generateContent, streamGenerateContent, countTokens, embedContent, batchEmbedContents'

const refused: readonly (readonly [string, object | string, number, string])[] = [
  ['generateContent', { contents: undefined }, 400, 'contents is required'],
  ['generateContent', { contents: [] }, 400, 'contents must not be empty'],
  ['generateContent', { contents: 'hi' }, 400, 'contents must be an array'],
  ['generateContent', { generationConfig: 5 }, 400, 'generationConfig must be an object'],
  [
    'generateContent',
    { generationConfig: { maxOutputTokens: 1.5 } },
    400,
    'generationConfig.maxOutputTokens must be an integer',
  ],
  [
    streaming,
    { generation_config: { max_output_tokens: 0 } },
    400,
    'generationConfig.maxOutputTokens must be 1 or more',
  ],
  [
    'generateContent',
    '{"contents":[1],"generationConfig":{"maxOutputTokens":1},"generationConfi\\u0067":{}}',
    400,
    'generationConfig is given twice',
  ],
  [
    'generateContent',
    { generationConfig: {}, generation_config: { maxOutputTokens: 9 } },
    400,
    'generationConfig is given twice',
  ],
  ['generateContent', '[', 400, 'request body is not valid JSON'],
  ['countTokens', { contents: undefined }, 400, 'contents must be an array'],
  ['no/pe:generateContent', {}, 404, 'model no/pe not found'],
  ['no/pe:tuneModel', {}, 404, noSuchMethod],
]

for (const [method, request, status, message] of refused) {
  test(`POST ${method} is ${status} in Google’s envelope: ${message}`, async () => {
    const answer = await ask(method, request)
    assert.equal(answer.status, status)
    const { error } = answer.json()
    assert.deepEqual(error, { code: status, message, status: status === 404 ? 'NOT_FOUND' : 'INVALID_ARGUMENT' })
  })
}

test('E3: an upstream error keeps its status and retry-after, with its message in Google’s envelope', async () => {
  const headers = { 'retry-after': '7' }
  const body = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } })
  const answer = await ask(streaming, { safetySettings: [] }, { status: 429, headers, body })
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '7'])
  assert.equal(answer.headers.get('x-switchyard-error-source'), 'upstream')
  assert.equal(answer.headers.get('x-switchyard-degraded'), 'safetySettings=dropped')
  assert.deepEqual(answer.json(), { error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } })
})

test('malformed and truncated answers are errors in Google’s envelope', async () => {
  const nonsense = await ask('generateContent', {}, { body: '{"content":5}' })
  assert.deepEqual([nonsense.status, nonsense.json().error.status], [502, 'UNAVAILABLE'])
  const broken = await ask(streaming, {}, { text: 'One two three four five six.', cutAfterBytes: 900 })
  assert.equal(readGeminiStream(broken.text).error?.['code'], 502)
})

test('S2: a refusal is reported in the candidate and in promptFeedback', async () => {
  const { candidates, promptFeedback } = (await ask('generateContent', {}, { text: '', stopReason: 'refusal' })).json()
  assert.deepEqual([candidates[0]?.['finishReason'], promptFeedback], ['SAFETY', { blockReason: 'SAFETY' }])
  const stream = readGeminiStream((await ask(streaming, {}, { text: 'No.', stopReason: 'refusal' })).text)
  assert.deepEqual([stream.text, stream.finish, stream.blocked], ['No.', 'SAFETY', 'SAFETY'])
})

test('without alt=sse a stream is one JSON array of the same chunks, with an error as last element', async () => {
  const said: Answer = { text: 'One two three four five six.' }
  const array = await ask('streamGenerateContent', {}, said)
  assert.match(array.headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(readGeminiArray(JSON.parse(array.text) as unknown[]).text, said.text)
  const broken = await ask('streamGenerateContent', {}, { ...said, cutAfterBytes: 900 })
  assert.equal(readGeminiArray(JSON.parse(broken.text) as unknown[]).error?.['code'], 502)
  const none = await ask('streamGenerateContent', { contents: [] })
  assert.deepEqual([none.status, none.json().error.code], [400, 400])
})

test('E7: empty chunks are sent as pings while the upstream is silent', async () => {
  const { text } = await ask(streaming, {}, { text: 'One two three four five six.', chunkDelayMs: 60 })
  const { frames, text: said } = readGeminiStream(text)
  assert.equal(said, 'One two three four five six.')
  assert.ok(frames > 4, `${frames} chunks`)
})

test('E9: a client disconnect aborts the upstream request', async () => {
  next = { text: 'x', pauseAtFrame: 4 }
  const leave = new AbortController()
  const before = upstream.requests.length
  const path = `/v1beta/models/test-model:${streaming}`
  const answer = await app.post(hi, { path, signal: leave.signal })
  assert.equal(answer.status, 200)
  leave.abort()
  await upstream.requests[before]?.closed
  upstream.release()
})

test('thoughts are returned on request, and always carried in signatures', async () => {
  const answer: Answer = { thinking: 'Hm, let me see.', text: 'So.' }
  const asked = { generationConfig: { thinkingConfig: { includeThoughts: true } } }
  const shown = readGeminiStream((await ask(streaming, asked, answer)).text)
  const silent = readGeminiStream((await ask(streaming, {}, answer)).text)
  assert.deepEqual([shown.thinking, silent.thinking, shown.text, silent.text], ['Hm, let me see.', '', 'So.', 'So.'])
  assert.deepEqual([shown.signatures.length, silent.signatures.length], [1, 1])
})

test('a call truncated by the token limit is not returned', async () => {
  const content = [{ type: 'tool_use', id: 'c', name: 'f', input: {} }]
  const frames = [
    { type: 'message_start', message: { model: 'x', usage: {} } },
    { type: 'content_block_start', index: 0, content_block: content[0] },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a": "b' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: {} },
    { type: 'message_stop' },
  ].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const said = readGeminiStream((await ask(streaming, {}, { frames })).text)
  assert.deepEqual([said.calls, said.finish], [[], 'MAX_TOKENS'])
})

test('a web search of the provider is returned as grounding metadata', async () => {
  const content = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [{ url: 'https://x.example', title: 't' }] },
    { type: 'text', text: 'found' },
  ]
  const body = JSON.stringify({ type: 'message', model: 'x', content, stop_reason: 'end_turn', usage: {} })
  const { candidates } = (await ask('generateContent', { tools: [{ googleSearch: {} }] }, { body })).json()
  assert.deepEqual(candidates[0]?.['groundingMetadata'], {
    webSearchQueries: ['q'],
    groundingChunks: [{ web: { uri: 'https://x.example', title: 't' } }],
  })
})

test('POST countTokens uses the counter of the upstream, and estimates without one', async () => {
  const whole = {
    contents: undefined,
    generateContentRequest: { ...hi, systemInstruction: { parts: [{ text: 's' }] } },
  }
  for (const request of [{}, whole]) {
    const answer = await ask('countTokens', request)
    assert.deepEqual([answer.status, answer.json()], [200, { totalTokens: 42 }])
  }
  assert.deepEqual(Object.keys(upstream.countRequests.at(-1)?.body ?? {}), ['model', 'system', 'messages'])
  const guess = await ask('a/b:c:countTokens')
  assert.equal(guess.headers.get('x-switchyard-estimated'), 'input_tokens')
  assert.ok(guess.json().totalTokens > 0)
  assert.equal((await app.post(hi, { path: '/v1beta/models/demo:countTokens' })).status, 200)
})

test('POST generateContent books the call with its model, as translated, with its degradations', async () => {
  const answer = await ask('a%2Fb%3Ac:generateContent', { labels: { a: 'b' } })
  assert.equal(answer.status, 200)
  const row = app.booked.at(-1)
  assert.deepEqual(
    [row?.alias, row?.lane, row?.degraded, row?.outcome],
    ['a/b:c', 'translated', 'labels=dropped', 'completed'],
  )
})

test('GET /v1beta/models returns pages of models, and each model by its name', async () => {
  const read = async (path: string) => (await fetch(`${app.url}${path}`)).json() as Promise<Record<string, unknown>>
  const names: unknown[] = []
  for (let token: unknown = ''; token !== undefined; ) {
    const page = await read(
      `/v1beta/models?pageSize=1${token === '' ? '' : `&pageToken=${encodeURIComponent(String(token))}`}`,
    )
    names.push(...(page['models'] as { name: string }[]).map(({ name }) => name))
    token = page['nextPageToken']
  }
  assert.deepEqual(names, ['models/test-model', 'models/a/b:c', 'models/demo'])
  for (const name of names) assert.equal((await read(`/v1beta/${name}`))['name'], name)
  assert.equal((await read('/v1beta/models/a%2Fb%3Ac'))['name'], 'models/a/b:c')
  const { error } = (await read('/v1beta/models?pageToken=nope')) as unknown as Body
  assert.deepEqual([error.status, error.message], ['INVALID_ARGUMENT', 'invalid pageToken'])
})
