import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NextAnswer } from '../../support/upstream/endpoint-upstream.ts'
import { form, frames, json, startEndpoints, wave } from './endpoint-setup.ts'

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
  'P3 completions without [DONE] are complete once each choice has ended': {
    path: '/v1/completions',
    body: { model: 'text', prompt: 'hi', n: 2, stream: true },
    answer: frames(
      { choices: [{ index: 0, text: 'ho', finish_reason: 'stop' }] },
      { choices: [{ index: 1, text: 'ha', finish_reason: null }] },
      { choices: [{ index: 1, text: '', finish_reason: 'length' }], usage },
    ),
    cost: '0.00002',
    tokens: [10, 5],
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

const { upstream, send, call } = await startEndpoints()

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
