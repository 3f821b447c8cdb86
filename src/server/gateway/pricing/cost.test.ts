import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rates, TieredRate } from '../../config/deployments.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { costOf, createAppliedRates } from './cost.ts'
import { flatRate } from './rates.ts'

/** Claude Opus 5.5. */
const opus: Rates = {
  input: flatRate(4),
  output: flatRate(20),
  cacheRead: flatRate(0.2),
  cacheWrite5m: flatRate(5),
  cacheWrite1h: flatRate(8),
}

const long = (base: number, rate: number): TieredRate => ({ base, tiers: [{ above: 200_000, rate }] })

/** Gemini 3.1 Pro. */
const gemini: Rates = { input: long(2, 4), output: long(12, 18), cacheRead: long(0.2, 0.4) }

/** gpt-4o-audio-preview, with a price of cached audio. */
const spoken: Rates = {
  input: flatRate(2.5),
  output: flatRate(10),
  cacheRead: flatRate(1.25),
  inputAudio: flatRate(40),
  cacheReadAudio: flatRate(20),
  outputAudio: flatRate(80),
}
/** 100 tokens of input and 20 cached ones; of them 80, 10 and, in the output, 40 of audio. */
const heard = { input_tokens: 100, cache_read_tokens: 20, audio: { input: 80, cacheRead: 10, output: 40 } }

const worked: readonly (readonly [example: string, Rates, Partial<TokenCounts>, string | undefined])[] = [
  ['no tokens', opus, {}, '0'],
  ['1,000 in and 500 out', opus, { input_tokens: 1_000, output_tokens: 500 }, '0.014'],
  ['one token', opus, { input_tokens: 1 }, '0.000004'],
  ['a million of each kind', opus, { input_tokens: 1e6, output_tokens: 1e6, cache_read_tokens: 1e6 }, '24.2'],
  ['cached reads', opus, { input_tokens: 10, cache_read_tokens: 100_000, output_tokens: 100 }, '0.02204'],
  ['writes for 5 minutes', opus, { cache_write_5m_tokens: 3_000 }, '0.015'],
  ['writes for an hour', opus, { cache_write_1h_tokens: 3_000 }, '0.024'],
  ['both writes in one call', opus, { cache_write_5m_tokens: 1_000, cache_write_1h_tokens: 1_000 }, '0.013'],
  ['input at the threshold of a tier', gemini, { input_tokens: 200_000, output_tokens: 1_000 }, '0.412'],
  [
    'input above the threshold raises the rate of all tokens',
    gemini,
    { input_tokens: 200_001, output_tokens: 1_000 },
    '0.818004',
  ],
  ['cached tokens count toward the tier', gemini, { input_tokens: 1, cache_read_tokens: 200_000 }, '0.080004'],
  ['output does not count toward the tier', gemini, { input_tokens: 1_000, output_tokens: 300_000 }, '3.602'],
  ['a missing rate that is required', gemini, { input_tokens: 1, cache_write_5m_tokens: 1 }, undefined],
  ['a missing rate that is not required', { input: flatRate(0.02) }, { input_tokens: 8 }, '0.00000016'],
  ['output without its rate', { input: flatRate(0.02) }, { input_tokens: 8, output_tokens: 1 }, undefined],
  ['a configured price of 0', { input: flatRate(0), output: flatRate(0) }, { input_tokens: 9 }, '0'],
  ['audio at its own rates', spoken, { ...heard, output_tokens: 50 }, '0.0067625'],
  ['audio without its own rates', opus, { ...heard, output_tokens: 50 }, '0.001404'],
  ['more audio than tokens', spoken, { input_tokens: 1, audio: { input: 9, cacheRead: 9, output: 9 } }, '0.00004'],
  ['no rates at all', {}, { output_tokens: 1 }, undefined],
]

for (const [example, rates, tokens, expected] of worked) {
  test(`the cost of a call: ${example}`, () => assert.equal(costOf(rates, { ...noTokens, ...tokens }), expected))
}

test('a cost is exact for any rate and any number of tokens', () => {
  // 0.1 and 0.2 have no exact binary form; summed as floats a million calls would be off.
  assert.equal(costOf({ input: flatRate(0.1) }, { ...noTokens, input_tokens: 3 }), '0.0000003')
  const tokens = { ...noTokens, input_tokens: 9_007_199_254_740_991 }
  assert.equal(costOf({ input: flatRate(0.000001) }, tokens), '9007.199254740991')
})

test('the applied rates of a call are exact decimals per token, for its tier', () => {
  const applied = createAppliedRates(gemini)
  const short = { ...noTokens, input_tokens: 200_000 }
  const rates = { input: '0.000002', cache_read: '0.0000002', output: '0.000012' }
  assert.deepEqual(applied(short), rates)
  assert.deepEqual(applied({ ...short, cache_read_tokens: 1 }), {
    input: '0.000004',
    cache_read: '0.0000004',
    output: '0.000018',
  })
  assert.deepEqual(applied(short), rates)
})
