import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Deployment, ImportedModel } from '../../config/deployments.ts'
import { knownModels } from '../routing/known-models.ts'
import { createPriceBook, pricingOf } from './price-book.ts'
import { flatRate } from './rates.ts'

const now = () => new Date('2026-11-21T12:00:00Z')
const at = (provider: string, changes: Partial<Deployment> = {}) => deploymentAt('http://x', { provider, ...changes })

interface Given {
  readonly provider: string
  readonly model: string
  readonly prices?: Deployment['prices']
  readonly imported?: Readonly<Record<string, ImportedModel>>
  readonly changes?: Partial<Deployment>
}

function factsOf({ provider, model, prices, imported = {}, changes = {} }: Given) {
  const deployment = at(provider, { ...(prices && { prices }), ...changes })
  return createPriceBook({ imported, now }).factsOf({ deployment, upstreamModel: model })
}

const priceOf = (given: Given) => {
  const { price } = factsOf(given)
  return price && pricingOf(price)
}

/**
 * USD per million tokens: input, output, cache read, cache write for 5 minutes and for 1 hour; window; maximum output.
 */
const current: readonly (readonly [
  provider: string,
  model: string,
  rates: readonly number[],
  window: number,
  out: number,
])[] = [
  ['anthropic', 'claude-opus-5-5', [4, 20, 0.2, 5, 8], 1_000_000, 128_000],
  ['anthropic', 'claude-sonnet-5', [2, 10, 0.2, 2.5, 4], 1_000_000, 128_000],
  ['anthropic', 'claude-sonnet-4-6', [3, 15, 0.3, 3.75, 6], 1_000_000, 128_000],
  ['anthropic', 'claude-haiku-4-5', [1, 5, 0.1, 1.25, 2], 200_000, 64_000],
  ['bedrock', 'eu.anthropic.claude-sonnet-5-v1:0', [2.2, 11, 0.22, 2.75, 4.4], 1_000_000, 128_000],
  ['vertex', 'claude-opus-5-5', [4, 20, 0.2, 5, 8], 1_000_000, 128_000],
  ['openrouter', 'anthropic/claude-opus-5.5', [4, 20, 0.2, 5, 8], 1_000_000, 128_000],
  ['openai', 'gpt-5.2', [1.75, 14, 0.175, 1.75, 1.75], 400_000, 128_000],
  ['azure', 'gpt-5.2', [1.75, 14, 0.175, 1.75, 1.75], 400_000, 128_000],
  ['openai', 'gpt-6-sol', [2, 10, 0.2, 2.5, 2.5], 1_050_000, 128_000],
  ['gemini', 'gemini-3-pro-preview', [2, 12, 0.2, 2, 2], 1_048_576, 65_536],
  ['gemini', 'gemini-3.8-flash', [0.75, 3.75, 0.075, 0.75, 0.75], 1_000_000, 65_536],
]

for (const [provider, model, rates, contextWindow, maxOutput] of current) {
  test(`${provider} ${model} has its price, context window and maximum output`, () => {
    const { input, output, cache_read, cache_write_5m, cache_write_1h, source } = priceOf({ provider, model }) ?? {}
    assert.deepEqual([input, output, cache_read, cache_write_5m, cache_write_1h], rates)
    assert.equal(source, 'catalogue')
    const facts = factsOf({ provider, model })
    assert.deepEqual([facts.contextWindow, facts.maxOutput], [contextWindow, maxOutput])
  })
}

test('tiered prices are shown with their thresholds', () => {
  assert.deepEqual(priceOf({ provider: 'gemini', model: 'gemini-3.1-pro-preview' })?.tiers, [
    { above_input_tokens: 200_000, input: 4, output: 18, cache_read: 0.4, cache_write_5m: 4, cache_write_1h: 4 },
  ])
})

const unknown = [
  ['anthropic', 'claude-unheard-of'],
  ['ollama', 'qwen3'],
  ['openai-compatible', 'gpt-5.2'],
  ['azure', 'our-own-deployment'],
  ['gemini', 'gemini-3-pro-image-preview'],
  ['openrouter', 'qwen/qwq-32b:free'],
  ['anthropic', 'claude-opus-5-5'.repeat(40)],
] as const
for (const [provider, model] of unknown) {
  test(`B4: the price of ${provider} ${model.slice(0, 40)} is unknown, not 0`, () =>
    assert.equal(priceOf({ provider, model }), undefined))
}

test('a deployment’s prices override the lists rate by rate', () => {
  const given = { provider: 'anthropic', model: 'claude-opus-5-5', prices: { input: 3e-6, cacheWrite1h: 6.1e-6 } }
  assert.deepEqual(priceOf(given), {
    input: 3,
    output: 20,
    cache_read: 0.2,
    cache_write_5m: 5,
    cache_write_1h: 6.1,
    source: 'config',
  })
  // A configured price applies to prompts of any length.
  const [tier] = priceOf({ provider: 'gemini', model: 'gemini-3.1-pro-preview', prices: { input: 1e-6 } })?.tiers ?? []
  assert.deepEqual([tier?.input, tier?.output], [1, 18])
})

test('a self-hosted model has the price of its deployment, even 0', () => {
  const free = priceOf({ provider: 'ollama', model: 'qwen3', prices: { input: 0, output: 0 } })
  assert.deepEqual([free?.input, free?.output, free?.source], [0, 0, 'config'])
  const half = priceOf({ provider: 'ollama', model: 'qwen3', prices: { input: 1e-7 } })
  assert.deepEqual([half?.input, half?.output, half?.cache_read], [0.1, null, 0.1])
  assert.equal(priceOf({ provider: 'ollama', model: 'qwen3', prices: { output: 1e-7 } }), undefined)
})

test('an imported list overrides the built-in table and is overridden by the deployment', () => {
  const imported = {
    'anthropic/claude-opus-5-5': { rates: { input: flatRate(3.5), output: flatRate(18) }, maxOutput: 99 },
    'ollama/claude-clone': { rates: { input: flatRate(1), output: flatRate(2) }, contextWindow: 8_192 },
  }
  const given = { provider: 'anthropic', model: 'claude-opus-5-5', imported }
  assert.deepEqual(
    [priceOf(given)?.input, priceOf(given)?.output, priceOf(given)?.cache_read, priceOf(given)?.source],
    [3.5, 18, 0.2, 'import'],
  )
  const both = { ...given, prices: { input: 1e-6 } }
  assert.deepEqual([priceOf(both)?.input, priceOf(both)?.output, priceOf(both)?.source], [1, 18, 'config'])
  assert.deepEqual([factsOf(given).contextWindow, factsOf(given).maxOutput], [1_000_000, 99])
  const clone = { provider: 'ollama', model: 'claude-clone', imported }
  assert.deepEqual([priceOf(clone)?.cache_write_5m, priceOf(clone)?.cache_write_1h], [1.25, 2])
  assert.equal(factsOf(clone).contextWindow, 8_192)
})

test('a price change on a known day applies in a running process', () => {
  let time = new Date('2026-12-31T23:59:00Z')
  const book = createPriceBook({ imported: {}, now: () => time })
  const target = { deployment: at('gemini'), upstreamModel: 'gemini-3.8-flash' }
  assert.equal(book.factsOf(target).price?.rates.input.base, 0.75)
  time = new Date('2027-01-01T00:00:00Z')
  assert.equal(book.factsOf(target).price?.rates.input.base, 1.5)
})

test('the price is found after thousands of other names of a wildcard', () => {
  const book = createPriceBook({ imported: {}, now })
  const deployment = at('anthropic')
  for (let number = 0; number < 2_500; number++) book.factsOf({ deployment, upstreamModel: `claude-${number}-x` })
  assert.equal(book.factsOf({ deployment, upstreamModel: 'claude-sonnet-5' }).price?.rates.input.base, 2)
})

const shown = [
  ['anthropic', 'anthropic-messages'],
  ['openai', 'openai-responses'],
  ['gemini', 'gemini'],
  ['vertex', 'vertex-anthropic'],
  ['bedrock', 'bedrock-converse'],
  ['openrouter', 'anthropic-messages'],
] as const
for (const [provider, protocol] of shown) {
  test(`every listed model of ${provider}/* has a price and a context window with ${protocol}`, () => {
    const models = knownModels({ provider, protocols: [protocol] })
    assert.ok(models.length >= 8 && models.length <= 24)
    const lacking = models.filter(model => {
      const { price, contextWindow } = factsOf({ provider, model })
      return price?.rates.output === undefined || contextWindow === undefined
    })
    assert.deepEqual(lacking, [])
  })
}

test('the label of a price holds its source and version', () => {
  const imported = { 'anthropic/claude-x': { rates: { input: flatRate(3) } } }
  const book = createPriceBook({ imported, importedVersion: '1a2b3c4d', now: () => new Date('2026-11-21T12:00:00Z') })
  const labelOf = (upstreamModel: string, prices: object = {}) =>
    book.factsOf({ deployment: { ...deploymentAt('http://x'), ...prices }, upstreamModel }).price?.label
  assert.equal(labelOf('claude-x'), 'import 1a2b3c4d')
  assert.match(labelOf('claude-opus-5-5') ?? '', /^catalogue genai-prices \d+\.\d+\.\d+$/)
  assert.equal(labelOf('claude-x', { prices: { input: 1 } }), 'config')
})

test('a deployment has the price and limits of its base_model, also of another provider', () => {
  const own = { provider: 'azure', model: 'our-model' }
  const behind = (provider: string, model: string) => ({ ...own, changes: { baseModel: { provider, model } } })
  assert.equal(priceOf(own), undefined)
  assert.deepEqual(priceOf(behind('azure', 'gpt-5.2')), priceOf({ provider: 'azure', model: 'gpt-5.2' }))
  const server = { provider: 'openai-compatible', model: 'x' }
  const changes = { baseModel: { provider: 'anthropic', model: 'claude-haiku-4-5' } }
  const facts = factsOf({ ...server, changes })
  assert.deepEqual([facts.contextWindow, facts.maxOutput, facts.price?.rates.input.base], [200_000, 64_000, 1])
})

test('an imported entry for the model’s own name precedes its base_model', () => {
  const changes = { baseModel: { provider: 'azure', model: 'gpt-5.2' } }
  const imported = {
    'azure/tuned': { rates: { input: flatRate(9), output: flatRate(9) } },
    'azure/gpt-5.2': { rates: { input: flatRate(7), output: flatRate(7) } },
  }
  assert.equal(priceOf({ provider: 'azure', model: 'tuned', imported, changes })?.input, 9)
  assert.equal(priceOf({ provider: 'azure', model: 'other', imported, changes })?.input, 7)
})

test('capabilities override the limits of every list', () => {
  const changes = { capabilities: { contextWindow: 10_000, maxOutput: 1_000 } }
  const { contextWindow, maxOutput } = factsOf({ provider: 'anthropic', model: 'claude-haiku-4-5', changes })
  assert.deepEqual([contextWindow, maxOutput], [10_000, 1_000])
})
