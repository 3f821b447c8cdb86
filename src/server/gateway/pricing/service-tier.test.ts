import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { masterCaller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { CallKind, DeployedModel } from '../core/call.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { createPriceBook } from './price-book.ts'
import { factsInTier, tierFields } from './service-tier.ts'
import { tokenChargeOf } from './token-charge.ts'

const prices = createPriceBook({ imported: {} })
const modelAt = (provider: string, upstreamModel: string): DeployedModel => ({
  deployment: deploymentAt('http://x', { provider }),
  upstreamModel,
})
const callOf = (kind: CallKind, body: object) => ({ kind, body: Buffer.from(JSON.stringify(body)) })

/** Charge for a million tokens of input. */
const chargeOf = (target: DeployedModel, call: ReturnType<typeof callOf>, tier?: string) => {
  const usage = { ...noTokens, input_tokens: 1_000_000, ...(tier !== undefined && { tier }) }
  return tokenChargeOf({ call, target, usage, prices })
}

const stated: readonly (readonly [provider: string, model: string, tier: string | undefined, cost: string])[] = [
  ['openai', 'gpt-5.2', undefined, '1.75'],
  ['openai', 'gpt-5.2', 'default', '1.75'],
  ['openai', 'gpt-5.2', 'flex', '0.875'],
  ['openai', 'gpt-5.2', 'priority', '3.5'],
  ['openai', 'gpt-5.2', 'fast', '3.5'],
  ['openai', 'gpt-5-mini', 'priority', '0.45'],
  ['openai', 'gpt-4.1', 'priority', '3.5'],
  ['openai', 'gpt-4.1-nano', 'priority', '0.2'],
  ['azure', 'gpt-4o', 'priority', '4.25'],
  ['openai', 'gpt-4o-mini', 'priority', '0.25'],
  ['openai', 'o4-mini', 'priority', '2'],
  ['openrouter', 'openai/gpt-5.2', 'flex', '0.875'],
  ['anthropic', 'claude-opus-5', 'fast', '10'],
  ['anthropic', 'claude-opus-5', 'standard', '5'],
  ['gemini', 'gemini-2.5-flash', 'flex', '0.3'],
]

for (const [provider, model, tier, cost] of stated) {
  test(`${provider} ${model} in the tier ${tier} charges ${cost} for a million tokens`, () =>
    assert.equal(chargeOf(modelAt(provider, model), callOf('chat', {}), tier).costUsd, cost))
}

test('the tier that the upstream states precedes the one of the request; the source of the price names it', () => {
  const target = modelAt('openai', 'gpt-5.2')
  const call = callOf('responses', { service_tier: 'priority' })
  assert.match(chargeOf(target, call).priceSource ?? '', /, priority$/)
  assert.equal(chargeOf(target, call).costUsd, '3.5')
  assert.equal(chargeOf(target, call, 'default').costUsd, '1.75')
})

test('a tier in the format of another vendor has no effect', () => {
  assert.equal(chargeOf(modelAt('anthropic', 'claude-opus-5'), callOf('chat', { service_tier: 'fast' })).costUsd, '5')
  assert.equal(chargeOf(modelAt('openai', 'gpt-5.2'), callOf('messages', { speed: 'fast' })).costUsd, '1.75')
  assert.equal(chargeOf(modelAt('anthropic', 'claude-opus-5'), callOf('messages', { speed: 'fast' })).costUsd, '10')
})

test('a reservation has the price of the requested tier, unless it is lower than the usual one', () => {
  const target = modelAt('openai', 'gpt-5.2')
  const inputRate = (text: string) => {
    const body = Buffer.from(text)
    const facts = factsInTier({ kind: 'chat', body }, ownMembers(body, keysOf(tierFields)), prices.factsOf)(target)
    return facts.price?.rates.input.base
  }
  assert.equal(inputRate('{}'), 1.75)
  assert.equal(inputRate('{"service_tier":"priority"}'), 3.5)
  assert.equal(inputRate('{"service_tie\\u0072":"ultrafast"}'), 10.5)
  assert.equal(inputRate('{"service_tier":"flex"}'), 1.75)
  assert.equal(inputRate('{"service_tier":5}'), 1.75)
})

test('a call in a dearer tier reserves the price of that tier', async t => {
  const reserved: (string | null)[] = []
  const app = await startGatewayApp({
    deployments: [
      deploymentAt('http://127.0.0.1:1/v1', {
        provider: 'openai',
        upstreamModel: 'gpt-5.2',
        protocols: ['openai-chat'],
        prices: { input: 1e-6, output: 2e-6 },
      }),
    ],
    caller: { ...masterCaller, key: { id: 'key_1', models: [], isLimited: true, isNarrow: true, expires: false } },
    budgets: {
      isLimited: () => true,
      requireMoney: async () => undefined,
      reserve: async ({ amountUsd }) => {
        reserved.push(amountUsd)
        throw new AppError('budget_exceeded', 'no room')
      },
    },
  })
  t.after(app.stop)
  const request = { model: 'test-model', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1_000_000 }
  for (const service_tier of ['standard', 'priority'])
    assert.equal((await app.post({ ...request, service_tier }, { path: '/v1/chat/completions' })).status, 402)
  assert.equal(Number(reserved[1]), 2 * Number(reserved[0]))
})
