import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { TieredRate } from '../../config/deployments.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { requestWords } from '../core/request-words.ts'
import { boundFields, type InputBound, inputBoundOf } from '../tokens/input-bound.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { costOf, createAppliedRates } from './cost.ts'
import type { ModelFacts } from './price-book.ts'
import { flatRate, type KnownRates } from './rates.ts'
import { type Candidate, worstCase as worstCaseOf } from './worst-case.ts'

const factsOf = (rates: KnownRates | undefined, more: Partial<ModelFacts> = {}): ModelFacts => ({
  ...more,
  ...(rates && { price: { rates, source: 'config', label: 'config', applied: createAppliedRates(rates) } }),
})
const flat = (input: number, output: number): KnownRates => ({
  input: flatRate(input),
  output: flatRate(output),
  cacheRead: flatRate(input / 10),
  cacheWrite5m: flatRate(input * 1.25),
  cacheWrite1h: flatRate(input * 2),
})
const input: InputBound = {
  textBytes: 9_500,
  images: 0,
  providerCalls: 0,
  toolCalls: {},
  tools: 0,
  fillsWindow: false,
  answers: 1,
  audioTokens: 0,
  hasAudio: false,
  answersInAudio: false,
}
const call = { input, maxTokens: 1_000, hasOutput: true, bytesPerToken: 1, unlimitedCalls: 10 }
const candidate = (facts: ModelFacts, upstreamModel = 'm') => ({
  deployment: deploymentAt('http://x', { provider: 'anthropic' }),
  upstreamModel,
  facts,
})
type Known = Candidate & { readonly facts: ModelFacts }
const worstCase = (asked: Parameters<typeof worstCaseOf>[0], candidates: readonly Known[]) =>
  worstCaseOf(asked, candidates, model => (model as Known).facts)
const opus = candidate(factsOf(flat(5, 25), { contextWindow: 200_000, maxOutput: 64_000 }))

test('the worst case is all input as 1-hour cache writes, and all requested output', () => {
  // 10,000 x 10 + 1,000 x 25, in millionths of a dollar.
  assert.deepEqual(worstCase(call, [opus]), { amountUsd: '0.125', tokens: 11_000 })
})

test('the most expensive candidate counts at any position', () => {
  const cheap = candidate(factsOf(flat(1, 2)))
  assert.deepEqual(worstCase(call, [cheap, opus, cheap]), worstCase(call, [opus]))
})

test('a candidate without a price is skipped; without another candidate the amount is null', () => {
  const unpriced = candidate(factsOf(undefined))
  const { output: _, ...inputOnly } = flat(1, 1)
  const half = candidate(factsOf(inputOnly))
  assert.deepEqual(worstCase(call, [unpriced, opus]), worstCase(call, [opus]))
  assert.deepEqual(worstCase(call, [unpriced, half]), { amountUsd: null, tokens: 11_000, unknown: 'price' })
})

test('a tier counts only when the input can reach it', () => {
  const tiered = (above: number): KnownRates => ({ ...flat(1, 1), output: { base: 1, tiers: [{ above, rate: 100 }] } })
  assert.equal(worstCase(call, [candidate(factsOf(tiered(9_999)))]).amountUsd, '0.12')
  assert.equal(worstCase(call, [candidate(factsOf(tiered(10_000)))]).amountUsd, '0.021')
})

test('without max_tokens the model’s maximum output counts, for every requested answer', () => {
  const open = { ...call, maxTokens: 0 }
  assert.equal(worstCase(open, [opus]).tokens, 74_000)
  assert.equal(worstCase({ ...open, input: { ...input, answers: 3 } }, [opus]).tokens, 202_000)
  assert.equal(worstCase(open, [candidate(factsOf(flat(5, 25), { contextWindow: 8_000 }))]).tokens, 18_000)
  assert.deepEqual(worstCase(open, [opus, candidate(factsOf(flat(5, 25)))]), {
    amountUsd: null,
    tokens: null,
    unknown: 'output',
  })
  // Embeddings have no output.
  assert.equal(worstCase({ ...open, hasOutput: false }, [candidate(factsOf(flat(5, 25)))]).amountUsd, '0.1')
})

test('external content fills the context window; with an unknown window there is no bound', () => {
  const open = { ...call, input: { ...input, fillsWindow: true } }
  assert.equal(worstCase(open, [opus]).tokens, 211_000)
  assert.deepEqual(worstCase(open, [candidate(factsOf(flat(1, 1)))]), {
    amountUsd: null,
    tokens: null,
    unknown: 'input',
  })
})

test('images, tools and provider searches add their bounds; more bytes per token lower the reservation', () => {
  const rich = { ...input, textBytes: 1_000, images: 2, tools: 3, providerCalls: 1 }
  assert.equal(worstCase({ ...call, input: rich }, [opus]).tokens, 1_000 + 20_000 + 3_000 + 25_000 + 500 + 1_000)
  assert.equal(worstCase({ ...call, bytesPerToken: 4 }, [opus]).tokens, 2_375 + 500 + 1_000)
  assert.equal(
    worstCase({ ...call, input: { ...input, images: 1 } }, [candidate(opus.facts, 'gpt-4o-mini')]).tokens,
    61_000,
  )
})

test('a low limit counts as the minimum that upstreams accept', () => {
  assert.equal(worstCase({ ...call, maxTokens: 1 }, [opus]).tokens, 10_016)
})

const rate = fc.integer({ min: 0, max: 100_000_000 }).map(micro => micro / 1e6)
const tieredRate: fc.Arbitrary<TieredRate> = fc.record({
  base: rate,
  tiers: fc
    .uniqueArray(fc.integer({ min: 1, max: 20_000 }), { maxLength: 3 })
    .chain(above =>
      fc.tuple(...above.sort((a, b) => a - b).map(from => fc.record({ above: fc.constant(from), rate }))),
    ),
})
const anyRates: fc.Arbitrary<KnownRates> = fc.record({
  input: tieredRate,
  output: tieredRate,
  cacheRead: tieredRate,
  cacheWrite5m: tieredRate,
  cacheWrite1h: tieredRate,
})

const text = fc.string({ unit: 'grapheme', maxLength: 300 })
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.constant({ type: 'image', source: { type: 'url', url: 'https://x/y' } }),
)
const message = fc.record({ role: fc.constant('user'), content: fc.array(block) })
const situation = fc.record({
  request: fc.record({ system: text, messages: fc.array(message) }),
  maxTokens: fc.integer({ min: 1, max: 10_000 }),
  rates: anyRates,
  /** Share of the readable input, of each of the four kinds of input in it, and of the possible output. */
  shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
})
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never

/** A possible usage of a body: at most one token per byte of text, and the bound of each image. */
function usageOf({ request, maxTokens, shares }: Situation) {
  const content = request.messages.flatMap(entry => entry.content)
  const texts = [request.system, ...content.flatMap(part => ('text' in part ? [part.text] : []))]
  const images = content.filter(({ type }) => type === 'image').length
  const readable = texts.reduce((sum, words) => sum + Buffer.byteLength(words), 0) + images * 10_000
  const [all = 0, plain = 0, read = 0, short = 0, long = 0, answered = 0] = shares
  const part = (share: number) => Math.floor((readable * all * share) / (plain + read + short + long || 1))
  return {
    ...noTokens,
    input_tokens: part(plain),
    cache_read_tokens: part(read),
    cache_write_5m_tokens: part(short),
    cache_write_1h_tokens: part(long),
    output_tokens: Math.floor(maxTokens * answered),
  }
}

const isCovered = fc.property(situation, given => {
  const body = Buffer.from(JSON.stringify(given.request))
  const bound = inputBoundOf({ kind: 'messages', body }, ownMembers(body, keysOf(boundFields), requestWords), 10)
  const { amountUsd } = worstCase({ ...call, input: bound, maxTokens: given.maxTokens }, [
    candidate(factsOf(given.rates)),
  ])
  return picoOf(costOf(given.rates, usageOf(given)) ?? '') <= picoOf(amountUsd ?? '')
})

test('the bound is never below the cost of any possible usage of a body', () => fc.assert(isCovered, { numRuns: 500 }))

const picoOf = (usd: string): bigint => {
  const [dollars = '', fraction = ''] = usd.split('.')
  return BigInt(dollars) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))
}

test('provider tool calls are reserved at the fees of the provider', () => {
  const searching = { ...call, input: { ...input, toolCalls: { web_search: 3, file_search: 1 } } }
  const amountOf = (model: string) => worstCase(searching, [candidate(factsOf(flat(5, 25)), model)]).amountUsd
  assert.equal(amountOf('m'), '0.125')
  assert.equal(amountOf('claude-opus-5'), '0.155')
  const deployment = deploymentAt('http://x', { provider: 'gemini' })
  const gemini = { ...candidate(factsOf(flat(5, 25)), 'gemini-3-pro'), deployment, protocol: 'gemini' } as const
  // Ten queries, because its format cannot limit them. Up to version 2.5 all queries of a request have one fee.
  assert.equal(worstCase(searching, [gemini]).amountUsd, '0.265')
  assert.equal(worstCase(searching, [{ ...gemini, upstreamModel: 'gemini-2.5-pro' }]).amountUsd, '0.16')
})

test('audio is reserved at its own rates, where the request may contain or ask for audio', () => {
  const rates = { ...flat(5, 25), inputAudio: flatRate(40), outputAudio: flatRate(80) }
  const facts = [candidate(factsOf(rates, { contextWindow: 200_000, maxOutput: 64_000 }))]
  const amount = (more: Partial<InputBound>) => worstCase({ ...call, input: { ...input, ...more } }, facts).amountUsd
  assert.equal(amount({}), '0.125')
  assert.equal(amount({ audioTokens: 1_000, hasAudio: true }), '0.465')
  assert.equal(amount({ answersInAudio: true }), '0.18')
})
