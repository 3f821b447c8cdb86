import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { EndpointKind, Units } from '../core/call.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { createPriceBook } from './price-book.ts'
import { chargeOf, type ImageSize, isEndpointPriced } from './unit-prices.ts'

const now = () => new Date('2026-11-21T12:00:00Z')

interface Used {
  readonly provider?: string
  readonly units?: Units
  readonly usage?: Partial<TokenCounts>
  readonly image?: ImageSize
}

function costOf(
  kind: EndpointKind,
  upstreamModel: string,
  { provider = 'openai', units = {}, usage, image = {} }: Used,
) {
  const model = { deployment: deploymentAt('http://x', { provider }), upstreamModel }
  const { price } = createPriceBook({ imported: {}, now }).factsOf(model)
  const { costUsd } = chargeOf({ kind, model, image, usage: { ...noTokens, ...usage }, units, price })
  assert.equal(isEndpointPriced(kind, model, price), costUsd !== undefined)
  return costUsd
}

const million = 1_000_000
const spoken = { usage: { input_tokens: million, output_tokens: million }, units: { audio_token: million } }
const drawn = {
  usage: { input_tokens: million, output_tokens: million },
  units: { image: 1, image_token: million },
}

const prices: readonly (readonly [kind: EndpointKind, model: string, used: Used, cost: string])[] = [
  ['speech', 'tts-1', { units: { character: million } }, '15'],
  ['speech', 'tts-1-1106', { units: { character: million } }, '15'],
  ['speech', 'tts-1-hd', { units: { character: million } }, '30'],
  ['speech', 'tts-hd', { provider: 'azure', units: { character: million } }, '30'],
  ['speech', 'tts', { provider: 'azure', units: { character: million } }, '15'],
  ['speech', 'gpt-4o-mini-tts', { usage: { input_tokens: million, output_tokens: million } }, '12.6'],
  ['speech', 'gpt-4o-mini-tts-2025-12-15', { usage: { input_tokens: million, output_tokens: million } }, '12.6'],
  ['transcriptions', 'whisper-1', { units: { second: 60 } }, '0.006'],
  ['transcriptions', 'whisper', { provider: 'azure', units: { second: 60 } }, '0.006'],
  ['transcriptions', 'gpt-transcribe', { units: { second: 60 } }, '0.0045'],
  ['transcriptions', 'gpt-4o-transcribe', spoken, '12.5'],
  ['transcriptions', 'gpt-4o-transcribe-diarize', spoken, '12.5'],
  ['transcriptions', 'gpt-4o-mini-transcribe', spoken, '6.25'],
  ['transcriptions', 'gpt-4o-mini-transcribe-2025-12-15', spoken, '6.25'],
  ['moderations', 'omni-moderation-latest', { units: { query: 1 } }, '0'],
  ['images', 'gpt-image-1', drawn, '50'],
  ['images', 'gpt-image-1-mini', drawn, '10.5'],
  ['images', 'gpt-image-1.5', drawn, '40'],
  ['images', 'chatgpt-image-latest', drawn, '40'],
  ['images', 'gpt-image-2', drawn, '38'],
  ['image_edits', 'gpt-image-2.5-flare', drawn, '38'],
  ['image_edits', 'gpt-image-2.6-sunburst', drawn, '38'],
  ['images', 'dall-e-2', { units: { image: 1 }, image: { size: '256x256' } }, '0.016'],
  ['images', 'dall-e-2', { units: { image: 1 }, image: { size: '512x512' } }, '0.018'],
  ['images', 'dall-e-2', { units: { image: 1 } }, '0.02'],
  ['images', 'dall-e-3', { units: { image: 1 } }, '0.04'],
  ['images', 'dall-e-3', { units: { image: 1 }, image: { size: '1024x1792' } }, '0.08'],
  ['images', 'dall-e-3', { units: { image: 1 }, image: { quality: 'hd' } }, '0.08'],
  ['images', 'dall-e-3', { units: { image: 1 }, image: { quality: 'hd', size: '1792x1024' } }, '0.12'],
]

for (const [kind, model, used, cost] of prices) {
  const { provider = 'openai', image } = used
  test(`${provider} ${model} ${Object.values(image ?? {}).join(' ')}: ${kind} has its published price`, () =>
    assert.equal(costOf(kind, model, used), cost))
}

test('similar names and other providers have no published price', () => {
  const units = { character: 1, second: 1 }
  assert.equal(costOf('speech', 'ttsomething', { units }), undefined)
  assert.equal(costOf('transcriptions', 'whisper-large-v3', { units }), undefined)
  assert.equal(costOf('transcriptions', 'whisper-1', { provider: 'groq', units }), undefined)
  assert.equal(costOf('images', 'gpt-image-2.5-flare', { provider: 'own', ...drawn }), undefined)
})
