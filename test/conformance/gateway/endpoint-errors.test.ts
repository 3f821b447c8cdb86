import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { form, frames, json, startEndpoints } from './endpoint-setup.ts'

const { upstream, app, at, send, call } = await startEndpoints()

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
      /does not support \/v1\/audio\/speech; it supports \/v1\/messages/,
    ],
    [
      '/v1/rerank',
      { model: 'openai/gpt-5.5', query: 'a', documents: ['b'] },
      400,
      /it supports .*\/v1\/chat\/completions/,
    ],
  ]
for (const [path, body, status, message] of refused) {
  test(`P26: POST ${path} is rejected with ${status} in OpenAI’s shape: ${message.source}`, async () => {
    const response = await send(path, body)
    const { error } = (await response.json()) as { error: { message: string; type: string } }
    assert.equal(response.status, status, error.message)
    assert.match(error.message, message)
    assert.equal(error.type, 'invalid_request_error')
  })
}

test('P27: two files of one name in a form are rejected', async () => {
  const body = form({ model: 'ears' })
  body.append('file', new Blob(['x']), 'b.wav')
  const response = await send('/v1/audio/transcriptions', body)
  assert.equal(response.status, 400)
  assert.match(await response.text(), /exactly one file part file/)
})

test('P28: a form over 25 MB is rejected with 413', async () => {
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

test('P30: audio that breaks off during the probe after a cooldown is cut for the client too', async t => {
  let nowMs = 0
  const app = await startGatewayApp({
    deployments: ['voice.1', 'voice.2'].map(id => at('voice', { id })),
    router: { retries: 0 },
    random: () => 0,
    nowMs: () => nowMs,
  })
  t.after(() => app.stop())
  const speak = () => app.post({ model: 'voice', input: 'hi' }, { path: '/v1/audio/speech' })
  upstream.answer({ status: 429, headers: { 'retry-after': '10' }, body: '{}' })
  assert.equal((await speak()).status, 429)
  nowMs += 10_000
  upstream.answer({ type: 'audio/mpeg', body: Buffer.alloc(50_000, 1), isCut: true })
  const response = await speak()
  assert.deepEqual([response.status, response.headers.get('x-switchyard-deployment')], [200, 'voice.1'])
  await assert.rejects(response.arrayBuffer())
})

test('P31: events that break off end with an error event', async () => {
  const before = app.booked.length
  upstream.answer({ ...frames({ choices: [{ text: 'ho', finish_reason: null }] }), isCut: true })
  const response = await send('/v1/completions', { model: 'text', prompt: 'hi', stream: true })
  assert.match(await response.text(), /"error":\{"message":"[^"]*upstream/)
  await app.bookedCalls(before + 1)
  assert.equal(app.booked.at(-1)?.outcome, 'failed')
})

test('P32: a model without a price is rejected where the configuration requires a price', async () => {
  const strict = await startGatewayApp({
    deployments: [at('plain', { prices: { input: 1e-6 } }), at('voice', { unitPrices: { character: 1 } })],
    prices: { unknown: 'refuse' },
  })
  upstream.answer({ type: 'audio/mpeg', body: 'x' })
  const ask = (model: string) => strict.post({ model, input: 'hi' }, { path: '/v1/audio/speech' })
  assert.deepEqual([(await ask('plain')).status, (await ask('voice')).status], [403, 200])
  await strict.stop()
})
