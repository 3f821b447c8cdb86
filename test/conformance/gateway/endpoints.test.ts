import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Deployment } from '../../../src/server/config/config.ts'
import { type NextAnswer, startEndpointUpstream } from '../../support/endpoint-upstream.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway-app.ts'

const upstream = await startEndpointUpstream()
const at = (alias: string, changes: Partial<Deployment> = {}) =>
  deploymentAt(`${upstream.url}/v1`, {
    id: `${alias}.1`,
    alias,
    upstreamModel: `up-${alias}`,
    provider: 'openai-compatible',
    protocols: ['openai-chat'],
    prices: { input: 1e-6, output: 2e-6 },
    ...changes,
  })
const deployments = [
  at('text'),
  at('voice', { unitPrices: { character: 0.001 } }),
  at('ears', { unitPrices: { second: 0.01 } }),
  at('painter', { unitPrices: { image: 0.5 } }),
  at('ranker', { unitPrices: { query: 0.002 } }),
  at('openai/*', { provider: 'openai', upstreamModel: '*', protocols: ['openai-responses', 'openai-chat'] }),
  at('claude', { provider: 'anthropic', protocols: ['anthropic-messages'] }),
  at('co', { provider: 'cohere', apiBase: upstream.url }),
  at('azure', { provider: 'azure', apiBase: `${upstream.url}/openai/v1` }),
]
const app = await startGatewayApp({ deployments, router: { retries: 0 } })
after(async () => {
  await app.stop()
  await upstream.stop()
})

const json = (value: object): NextAnswer => ({ body: JSON.stringify(value) })
const frames = (...data: readonly (object | string)[]): NextAnswer => ({
  type: 'text/event-stream',
  body: data.map(each => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`),
})

const wave = (seconds: number) => {
  const header = Buffer.alloc(44)
  header.write('RIFF')
  header.writeUInt32LE(8_000, 28)
  return Buffer.concat([header, Buffer.alloc(8_000 * seconds - 44)])
}

function form(fields: Readonly<Record<string, string>>, files: Readonly<Record<string, Buffer>> = { file: wave(3) }) {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  for (const [name, bytes] of Object.entries(files)) data.append(name, new Blob([new Uint8Array(bytes)]), 'a.bin')
  return data
}

const send = (path: string, body: object | string | FormData, headers: Record<string, string> = {}) =>
  body instanceof FormData
    ? fetch(`${app.url}${path}`, { method: 'POST', body, headers })
    : app.post(body, { path, headers })

async function call(path: string, body: object | FormData, answer: NextAnswer) {
  const before = app.booked.length
  upstream.answer(answer)
  const response = await send(path, body)
  const bytes = Buffer.from(await response.arrayBuffer())
  const isOurs = response.headers.get('x-switchyard-error-source') === 'gateway'
  assert.ok(!isOurs, bytes.toString('utf8', 0, 500))
  await app.bookedCalls(before + 1)
  return { response, bytes, row: app.booked.at(-1) ?? assert.fail('the call is booked') }
}

interface Case {
  readonly path: string
  readonly body: object | FormData
  readonly answer: NextAnswer
  /** Where it goes; behind the public path without anything. */
  readonly to?: string
  readonly cost: string | null
  readonly tokens?: readonly [input: number, output: number]
  readonly units?: object | null
  readonly estimated?: boolean
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const imageUsage = { input_tokens: 10, output_tokens: 100, input_tokens_details: { text_tokens: 4, image_tokens: 6 } }
const image = { b64_json: 'aGk=' }
const completed = { type: 'image_generation.completed', b64_json: 'A'.repeat(200_000), usage: imageUsage }

const cases: Readonly<Record<string, Case>> = {
  'P1 completions state their tokens': {
    path: '/v1/completions',
    body: { model: 'text', prompt: 'hi' },
    answer: json({ choices: [{ text: 'ho' }], usage }),
    cost: '0.00002',
    tokens: [10, 5],
  },
  'P2 completions stream to [DONE]': {
    path: '/v1/completions',
    body: { model: 'text', prompt: 'hi', stream: true },
    answer: frames({ choices: [{ text: 'ho', finish_reason: null }] }, { choices: [], usage }, '[DONE]'),
    cost: '0.00002',
    tokens: [10, 5],
  },
  'P3 a stream of completions without usage is estimated': {
    path: '/v1/completions',
    body: { model: 'text', prompt: 'hi', stream: true },
    answer: frames({ choices: [{ text: 'ho'.repeat(20), finish_reason: 'stop' }] }, '[DONE]'),
    cost: '0.000031',
    tokens: [11, 10],
    estimated: true,
  },
  'P4 moderations of OpenAI are free, and name their model': {
    path: '/v1/moderations',
    body: { input: 'hi' },
    answer: json({ results: [] }),
    cost: '0',
    units: { query: 1 },
  },
  'P5 rerank by searches': {
    path: '/v1/rerank',
    body: { model: 'ranker', query: 'a', documents: Array.from({ length: 101 }, () => 'x'), top_n: 3 },
    answer: json({ results: [] }),
    cost: '0.004',
    units: { query: 2 },
  },
  'P6 rerank by the searches that the upstream states': {
    path: '/rerank',
    body: { model: 'ranker', query: 'a', documents: ['b'] },
    answer: json({ results: [], meta: { billed_units: { search_units: 5 } } }),
    to: '/v1/rerank',
    cost: '0.01',
    units: { query: 5 },
  },
  'P7 rerank by tokens': {
    path: '/v2/rerank',
    body: { model: 'text', query: 'a', documents: ['b'] },
    answer: json({ results: [], usage: { total_tokens: 30 } }),
    to: '/v1/rerank',
    cost: '0.00003',
    tokens: [30, 0],
    units: { query: 1 },
  },
  'P8 rerank at Cohere has its own path': {
    path: '/v1/rerank',
    body: { model: 'co', query: 'a', documents: ['b'] },
    answer: json({ results: [], meta: { billed_units: { search_units: 1 } } }),
    to: '/v2/rerank',
    cost: '0.000011',
    units: { query: 1 },
  },
  'P9 images at a price each': {
    path: '/v1/images/generations',
    body: { model: 'painter', prompt: 'a cat', n: 2 },
    answer: json({ created: 1, data: [image, image] }),
    cost: '1',
    units: { image: 2 },
  },
  'P10 images by tokens': {
    path: '/images/generations',
    body: { model: 'openai/gpt-image-1', prompt: 'a cat' },
    answer: json({ created: 1, data: [image], usage: imageUsage }),
    to: '/v1/images/generations',
    cost: '0.00024',
    tokens: [10, 100],
    units: { image: 1, image_token: 6 },
  },
  'P11 images by size and quality': {
    path: '/v1/images/generations',
    body: { model: 'openai/dall-e-3', prompt: 'a cat', size: '1792x1024', quality: 'hd' },
    answer: json({ created: 1, data: [{ url: 'https://x/y' }] }),
    cost: '0.12',
    units: { image: 1 },
  },
  'P12 images stream with partial ones': {
    path: '/v1/images/generations',
    body: { model: 'text', prompt: 'a cat', stream: true, partial_images: 1 },
    answer: frames({ type: 'image_generation.partial_image', b64_json: 'B'.repeat(200_000) }, completed),
    cost: '0.00021',
    tokens: [10, 100],
    units: { image: 1, image_token: 6 },
  },
  'P13 an image is edited by a form': {
    path: '/v1/images/edits',
    body: form({ model: 'painter', prompt: 'more' }, { image: Buffer.from('png'), mask: Buffer.from('png') }),
    answer: json({ data: [image] }),
    cost: '0.5',
    units: { image: 1 },
  },
  'P14 images are edited by JSON': {
    path: '/v1/images/edits',
    body: { model: 'painter', prompt: 'more', images: [{ file_id: 'file-1' }] },
    answer: json({ data: [image] }),
    cost: '0.5',
    units: { image: 1 },
  },
  'P15 variations of an image': {
    path: '/v1/images/variations',
    body: form({ model: 'painter', n: '2' }, { image: Buffer.from('png') }),
    answer: json({ data: [image, image] }),
    cost: '1',
    units: { image: 2 },
  },
  'P16 speech by characters': {
    path: '/v1/audio/speech',
    body: { model: 'voice', input: 'hé\u{1F600}', voice: 'alloy' },
    answer: { type: 'audio/mpeg', body: [Buffer.from([0xff, 0xfb, 0, 1]), Buffer.alloc(70_000, 7)] },
    cost: '0.003',
    units: { character: 3 },
  },
  'P17 speech as events states its tokens': {
    path: '/audio/speech',
    body: { model: 'text', input: 'hello', voice: 'alloy', stream_format: 'sse' },
    answer: frames(
      { type: 'speech.audio.delta', audio: 'aGk=' },
      { type: 'speech.audio.done', usage: { input_tokens: 4, output_tokens: 60, total_tokens: 64 } },
    ),
    to: '/v1/audio/speech',
    cost: '0.000124',
    tokens: [4, 60],
    units: { character: 5 },
  },
  'P18 a transcript by the seconds that its usage states': {
    path: '/v1/audio/transcriptions',
    body: form({ model: 'ears' }),
    answer: json({ text: 'hi', usage: { type: 'duration', seconds: 9 } }),
    cost: '0.09',
    units: { second: 9 },
  },
  'P19 a transcript by its duration': {
    path: '/v1/audio/transcriptions',
    body: form({ model: 'ears', response_format: 'verbose_json' }),
    answer: json({ text: 'hi', duration: 8.47 }),
    cost: '0.0847',
    units: { second: 8.47 },
  },
  'P20 a transcript as text by the length of the recording': {
    path: '/v1/audio/transcriptions',
    body: form({ model: 'ears', response_format: 'srt' }),
    answer: { type: 'text/plain; charset=utf-8', body: '1\n00:00:00,000 --> 00:00:01,000\nhi\n' },
    cost: '0.03',
    units: { second: 3 },
    estimated: true,
  },
  'P21 a transcript as events': {
    path: '/v1/audio/transcriptions',
    body: form({ model: 'text', stream: 'true' }),
    answer: frames(
      { type: 'transcript.text.delta', delta: 'hi' },
      {
        type: 'transcript.text.done',
        text: 'hi',
        usage: { type: 'tokens', input_tokens: 14, output_tokens: 4, input_token_details: { audio_tokens: 14 } },
      },
    ),
    cost: '0.000022',
    tokens: [14, 4],
    units: { audio_token: 14 },
  },
  'P22 a translation of a recording': {
    path: '/v1/audio/translations',
    body: form({ model: 'openai/whisper-1' }),
    answer: json({ text: 'hi', usage: { type: 'duration', seconds: 60 } }),
    cost: '0.006',
    units: { second: 60 },
  },
  'P23 a model of Azure': {
    path: '/openai/deployments/azure/audio/transcriptions?api-version=2025-04-01-preview',
    body: form({}),
    answer: json({ text: 'hi', usage: { input_tokens: 14, output_tokens: 4 } }),
    to: '/openai/v1/audio/transcriptions',
    cost: '0.000022',
    tokens: [14, 4],
  },
  'P24 Azure’s path names the model of JSON too': {
    path: '/openai/deployments/voice/audio/speech?api-version=2025-04-01-preview',
    body: { input: 'hi', voice: 'alloy' },
    answer: { type: 'audio/opus', body: 'OggS' },
    to: '/v1/audio/speech',
    cost: '0.002',
    units: { character: 2 },
  },
}

for (const [name, given] of Object.entries(cases)) {
  test(`${name}: the bytes of request and answer pass, and the call is priced`, async () => {
    const { response, bytes, row } = await call(given.path, given.body, given.answer)
    assert.equal(response.status, 200, bytes.toString('utf8', 0, 500))
    const { body, type = 'application/json' } = given.answer
    const expected = Buffer.concat([body].flat().map(piece => Buffer.from(piece as string)))
    assert.ok(bytes.equals(expected), 'the answer is what the upstream sent')
    assert.equal(response.headers.get('content-type'), type)
    assert.equal(upstream.last().url, given.to ?? given.path)
    const { cost_usd, input_tokens, output_tokens, units, estimated, outcome } = row
    assert.deepEqual([outcome, cost_usd, estimated], ['completed', given.cost, given.estimated ?? false])
    if (given.tokens) assert.deepEqual([input_tokens, output_tokens], given.tokens)
    assert.deepEqual(units, given.units ?? null)
  })
}

test('P25: a request goes out byte for byte, but for the model’s name at the upstream', async () => {
  const text = '{ "prompt": "hi" , "model":"text","x":[1,{"y":null}] }'
  upstream.answer(json({ choices: [] }))
  await send('/v1/completions', text)
  assert.equal(upstream.last().body.toString(), text.replace('"text"', '"up-text"'))
  assert.equal(upstream.last().headers.authorization, 'Bearer sk-provider-canary-0001')
  const sound = wave(2)
  await send('/v1/audio/transcriptions', form({ model: 'ears', prompt: 'x' }, { file: sound }))
  const { body, headers } = upstream.last()
  assert.match(headers['content-type'] ?? '', /^multipart\/form-data; boundary=/)
  assert.ok(body.includes(sound), 'the file is whole')
  assert.match(body.toString('latin1'), /name="model"\r\n\r\nup-ears\r\n/)
})

const refused: readonly (readonly [path: string, body: object | string | FormData, status: number, message: RegExp])[] =
  [
    ['/v1/completions', { model: 'text' }, 400, /prompt is required/],
    ['/v1/completions', { prompt: 'hi' }, 400, /model is required/],
    ['/v1/completions', { model: 5, prompt: 'hi' }, 400, /model must be a string/],
    ['/v1/completions', '{"model":"text","model":"text","prompt":"hi"}', 400, /model is given twice/],
    ['/v1/completions', { model: 'text', prompt: 'hi', stream: 'yes' }, 400, /stream must be a boolean/],
    ['/v1/completions', '[', 400, /not valid JSON/],
    ['/v1/audio/speech', { model: 'nope', input: 'hi' }, 404, /model nope not found/],
    ['/v1/audio/speech', { model: 'voice' }, 400, /input is required/],
    ['/v1/rerank', { model: 'ranker', query: 'a' }, 400, /documents is required/],
    ['/v1/audio/transcriptions', { model: 'ears' }, 415, /multipart\/form-data/],
    ['/v1/audio/transcriptions', form({}), 400, /model is required/],
    ['/v1/audio/transcriptions', form({ model: 'ears' }, {}), 400, /exactly one file part file/],
    [
      '/v1/audio/transcriptions',
      form({ model: 'ears' }, { other: Buffer.from('x') }),
      400,
      /unknown file part "other"/,
    ],
    ['/v1/images/edits', form({ model: 'painter' }, { image: Buffer.from('x') }), 400, /prompt is required/],
    ['/v1/images/edits', form({ model: 'painter', prompt: 'x' }, {}), 400, /image, or several named image\[\]/],
    [
      '/v1/audio/speech',
      { model: 'claude', input: 'hi' },
      400,
      /no \/v1\/audio\/speech at its upstream; it has \/v1\/messages/,
    ],
    ['/v1/rerank', { model: 'openai/gpt-5.5', query: 'a', documents: ['b'] }, 400, /it has .*\/v1\/chat\/completions/],
  ]
for (const [path, body, status, message] of refused) {
  test(`P26: POST ${path} is refused with ${status} in OpenAI’s shape: ${message.source}`, async () => {
    const response = await send(path, body)
    const { error } = (await response.json()) as { error: { message: string; type: string } }
    assert.equal(response.status, status, error.message)
    assert.match(error.message, message)
    assert.equal(error.type, 'invalid_request_error')
  })
}

test('P27: two files of one name in a form are refused', async () => {
  const body = form({ model: 'ears' })
  body.append('file', new Blob(['x']), 'b.wav')
  const response = await send('/v1/audio/transcriptions', body)
  assert.equal(response.status, 400)
  assert.match(await response.text(), /exactly one file part file/)
})

test('P28: a form over 25 MB is refused with 413', async () => {
  const response = await send(
    '/v1/audio/transcriptions',
    form({ model: 'ears' }, { file: Buffer.alloc(26 * 1024 * 1024) }),
  )
  assert.equal(response.status, 413)
})

test('P29: an upstream’s error passes with its status and bytes, and the call is booked', async () => {
  const error = { error: { message: 'Billing hard limit', type: 'billing', param: null, code: 'x' } }
  const { response, bytes, row } = await call(
    '/v1/images/generations',
    { model: 'painter', prompt: 'x' },
    { status: 400, ...json(error) },
  )
  assert.deepEqual([response.status, JSON.parse(bytes.toString())], [400, error])
  assert.equal(response.headers.get('x-switchyard-error-source'), 'upstream')
  assert.deepEqual([row.outcome, row.status], ['failed', 400])
})

test('P30: audio that breaks off is cut for the client too, and booked as failed', async () => {
  const before = app.booked.length
  upstream.answer({ type: 'audio/mpeg', body: Buffer.alloc(50_000, 1), isCut: true })
  const response = await send('/v1/audio/speech', { model: 'voice', input: 'hi' })
  await assert.rejects(response.arrayBuffer())
  await app.bookedCalls(before + 1)
  assert.deepEqual([app.booked.at(-1)?.outcome, app.booked.at(-1)?.cost_usd], ['failed', '0.002'])
})

test('P31: events that break off end with an error event', async () => {
  const before = app.booked.length
  upstream.answer({ ...frames({ choices: [{ text: 'ho', finish_reason: null }] }), isCut: true })
  const response = await send('/v1/completions', { model: 'text', prompt: 'hi', stream: true })
  assert.match(await response.text(), /"error":\{"message":"[^"]*upstream/)
  await app.bookedCalls(before + 1)
  assert.equal(app.booked.at(-1)?.outcome, 'failed')
})

test('P32: a model without a price is refused where the configuration says so', async () => {
  const strict = await startGatewayApp({
    deployments: [at('plain', { prices: { input: 1e-6 } }), at('voice', { unitPrices: { character: 1 } })],
    prices: { unknown: 'refuse' },
  })
  upstream.answer({ type: 'audio/mpeg', body: 'x' })
  const ask = (model: string) => strict.post({ model, input: 'hi' }, { path: '/v1/audio/speech' })
  assert.deepEqual([(await ask('plain')).status, (await ask('voice')).status], [403, 200])
  await strict.stop()
})
