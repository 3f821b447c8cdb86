import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calcPrice } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { packagedPrices, printed } from '../../../../scripts/packaged-prices.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { costOf } from './cost.ts'
import { findInTable, periodAt, priceTable } from './price-table.ts'
import { completed, ratesOfPeriod } from './rates.ts'

test('the table equals the installed price package; update it with npm run prices', () => {
  assert.deepEqual(priceTable(), packagedPrices())
  assert.deepEqual(JSON.parse(printed(packagedPrices())), packagedPrices())
})

/** Provider names of the gateway and of the package. */
const providers = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
  bedrock: 'aws',
  openrouter: 'openrouter',
}

const names = Object.entries(providers).flatMap(([ours, theirs]) =>
  (priceTable().providers[theirs]?.models ?? [])
    .filter(({ periods }) => periods?.every(period => period.output_mtok !== undefined))
    .map(({ id }) => ({ ours, theirs, id })),
)

const tokens = fc.record({
  input: fc.nat(400_000),
  read: fc.nat(400_000),
  written: fc.nat(100_000),
  output: fc.nat(200_000),
})
const times = fc.date({ min: new Date('2025-01-01'), max: new Date('2027-12-31'), noInvalidDate: true })

test('every model costs what the price package computes, for any tokens and day', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      tokens,
      times,
      ({ ours, theirs, id }, { input, read, written, output }, time) => {
        const expected = calcPrice(
          {
            input_tokens: input + read + written,
            cache_read_tokens: read,
            cache_write_tokens: written,
            output_tokens: output,
          },
          id,
          { providerId: theirs, timestamp: time },
        )
        const entry = findInTable(ours, id)
        assert.equal(entry?.id, expected?.model.id)
        const period = entry && periodAt(entry, time)
        if (!period || !expected) return
        // The package has one price for all cache writes when only one is listed.
        const rates = completed(ratesOfPeriod(period), 'another maker') ?? {}
        const counts = { ...noTokens, input_tokens: input, cache_read_tokens: read, output_tokens: output }
        const cost = Number(costOf(rates, { ...counts, cache_write_5m_tokens: written }))
        assert.ok(Math.abs(cost - expected.total_price) < 1e-6, `${id}: ${cost} is not ${expected.total_price}`)
      },
    ),
    { numRuns: 2_000 },
  )
})

const found: readonly (readonly [provider: string, model: string, id: string | undefined])[] = [
  ['anthropic', 'claude-opus-5-5', 'claude-opus-5-5'],
  ['anthropic', 'claude-opus-5-5-20260901', 'claude-opus-5-5'],
  ['anthropic', 'Claude-Sonnet-5', 'claude-sonnet-5'],
  ['openai', 'gpt-5.2-2025-12-11', 'gpt-5.2'],
  ['openai', 'gpt-5.5-20260423', 'gpt-5.5'],
  ['gemini', 'gemini-3-pro-preview', 'gemini-3-pro-preview'],
  ['gemini', 'gemini-3-flash-preview', 'gemini-3-flash-preview'],
  ['vertex', 'claude-opus-5-5@20260901', 'claude-opus-5-5'],
  ['vertex', 'claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
  ['bedrock', 'eu.anthropic.claude-opus-5-5', 'regional.anthropic.claude-opus-5-5'],
  ['bedrock', 'global.anthropic.claude-opus-5-5', 'global.anthropic.claude-opus-5-5'],
  ['azure', 'gpt-5.2', 'gpt-5.2'],
  ['azure', 'our-own-deployment', undefined],
  ['openrouter', 'anthropic/claude-opus-5.5', 'anthropic/claude-opus-5.5'],
  ['anthropic', 'claude-unheard-of', undefined],
  ['ollama', 'qwen3', undefined],
  ['openai-compatible', 'gpt-5.2', undefined],
  ['constructor', 'gpt-5.2', undefined],
]

for (const [provider, model, id] of found) {
  test(`${model} of ${provider} matches ${id ?? 'no price list'}`, () =>
    assert.equal(findInTable(provider, model)?.id, id))
}
