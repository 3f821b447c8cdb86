import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { DeployedModel, EndpointKind } from '../core/call.ts'
import { createAppliedRates } from '../pricing/cost.ts'
import type { ModelFacts } from '../pricing/price-book.ts'
import { flatRate, type KnownRates } from '../pricing/rates.ts'
import { endpointWorstCase } from './worst-case.ts'

const rates: KnownRates = {
  input: flatRate(1),
  output: flatRate(2),
  cacheRead: flatRate(1),
  cacheWrite5m: flatRate(1),
  cacheWrite1h: flatRate(1),
}
const priced: ModelFacts = {
  price: { rates, source: 'config', label: 'config', applied: createAppliedRates(rates) },
}
type Candidate = DeployedModel & { readonly facts: ModelFacts }
const factsOf = (model: DeployedModel): ModelFacts => (model as Candidate).facts
const at = (upstreamModel: string, facts: ModelFacts = {}, provider = 'openai'): Candidate => ({
  deployment: deploymentAt('http://upstream.test', { provider, upstreamModel }),
  upstreamModel,
  facts,
})
const json = (body: object) => ({ body: Buffer.from(JSON.stringify(body)), headers: {} })
const worst = (kind: EndpointKind, body: object, ...candidates: Candidate[]) =>
  endpointWorstCase(json(body), kind, candidates, factsOf)

const form = (audio: Buffer) => ({
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([
    Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'),
    audio,
    Buffer.from('\r\n--b--\r\n'),
  ]),
})

test('speech is reserved by its number of code points', () => {
  assert.equal(worst('speech', { input: 'héé🙂' }, at('tts-1')).amountUsd, '0.00006')
})

test('images are reserved by requested number, size and quality', () => {
  const body = { prompt: 'sea', n: 3, size: '1792x1024', quality: 'hd' }
  assert.equal(worst('images', body, at('dall-e-3')).amountUsd, '0.36')
  assert.equal(worst('images', { prompt: 'sea' }, at('dall-e-3')).amountUsd, '0.04')
})

test('images charged by tokens are reserved at the largest size and highest quality, including input images', () => {
  const body = { model: 'gpt-image-2', prompt: 'sea', n: 2 }
  const bytes = JSON.stringify(body).length
  assert.equal(worst('images', body, at('gpt-image-2', priced)).tokens, bytes + 2 * 25_000)
  const edit = { ...body, n: 1, images: [{ file_id: 'f' }] }
  assert.equal(worst('image_edits', edit, at('gpt-image-2', priced)).tokens, JSON.stringify(edit).length + 2 * 25_000)
})

test('a recording is reserved at the length of the slowest codec, a WAV file at the length in its header', () => {
  const unknown = endpointWorstCase(form(Buffer.alloc(7_500)), 'transcriptions', [at('whisper-1')], factsOf)
  assert.equal(unknown.amountUsd, '0.001')
  const wave = Buffer.alloc(7_500)
  wave.write('RIFF')
  wave.writeUInt32LE(1_500, 28)
  assert.equal(endpointWorstCase(form(wave), 'transcriptions', [at('whisper-1')], factsOf).amountUsd, '0.0005')
})

test('a WAV header with a lower bit rate than the slowest codec is ignored', () => {
  const wave = Buffer.alloc(7_500)
  wave.write('RIFF')
  wave.writeUInt32LE(1, 28)
  assert.equal(endpointWorstCase(form(wave), 'transcriptions', [at('whisper-1')], factsOf).amountUsd, '0.001')
})

test('a completion is reserved by its body and all requested answers', () => {
  const body = { prompt: 'hi', max_tokens: 100, n: 2, best_of: 5 }
  const { tokens, amountUsd } = worst('completions', body, at('m', priced))
  const bytes = JSON.stringify(body).length
  assert.equal(tokens, bytes + 500)
  assert.equal(Number(amountUsd), (bytes + 1_000) / 1e6)
})

test('a completion without max_tokens is reserved at the model’s maximum output, and unknown without one', () => {
  const body = { prompt: 'hi' }
  const bytes = JSON.stringify(body).length
  assert.equal(worst('completions', body, at('m', { ...priced, maxOutput: 64 })).tokens, bytes + 64)
  assert.equal(worst('completions', body, at('m', { ...priced, contextWindow: 128 })).tokens, bytes + 128)
  assert.deepEqual(worst('completions', body, at('m', priced)), { amountUsd: null, tokens: null, unknown: 'output' })
})

test('the most expensive candidate counts at any position; candidates without a price are skipped', () => {
  const body = { input: 'abcd' }
  const dear = worst('speech', body, at('tts-1-hd')).amountUsd
  for (const candidates of [
    [at('tts-1'), at('tts-1-hd'), at('own')],
    [at('own'), at('tts-1-hd'), at('tts-1')],
  ])
    assert.equal(worst('speech', body, ...candidates).amountUsd, dear)
})

test('the amount is null without a price; a published price applies to its provider only', () => {
  for (const candidate of [at('own'), at('tts-1', {}, 'someone')]) {
    const { amountUsd, unknown } = worst('speech', { input: 'abcd' }, candidate)
    assert.deepEqual([amountUsd, unknown], [null, 'price'])
  }
})
