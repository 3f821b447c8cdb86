import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import type { Deployment } from '../../config/deployments.ts'

const usage = {
  input_tokens: 1_000,
  cache_read_input_tokens: 10_000,
  cache_creation_input_tokens: 500,
  cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 300 },
  output_tokens: 100,
}
const upstream = await startScriptedUpstream({ script: [{ text: 'hi', usage }] })
after(() => upstream.stop())

const at = (alias: string, upstreamModel: string, changes: Partial<Deployment> = {}) =>
  deploymentAt(upstream.url, { id: `${alias}.1`, alias, upstreamModel, ...changes })
const deployments = [
  at('priced', 'claude-opus-5-5'),
  at('unpriced', 'claude-unheard-of'),
  at('anthropic/*', '*'),
  at('half', 'claude-unheard-of', { prices: { input: 1e-6 } }),
  at('mixed', 'claude-unheard-of', { id: 'mixed.1' }),
  at('mixed', 'claude-opus-5-5', { id: 'mixed.2' }),
]
const allowing = await startGatewayApp({ deployments })
const refusing = await startGatewayApp({ deployments, prices: { unknown: 'refuse' } })
after(() => Promise.all([allowing.stop(), refusing.stop()]))

const ask = (model: string) => ({ model, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })

/** The cost that a call is booked with. */
async function bookedCost(model: string): Promise<string | null | undefined> {
  const before = allowing.booked.length
  assert.equal((await allowing.post(ask(model))).status, 200)
  await allowing.bookedCalls(before + 1)
  return allowing.booked[before]?.cost_usd
}

test('a call is booked with its exact cost, including cache reads and both kinds of cache writes', async () => {
  // 1,000 x 4 + 10,000 x 0.2 + 200 x 5 + 300 x 8 + 100 x 20, in millionths of a dollar.
  assert.equal(await bookedCost('priced'), '0.0114')
  assert.equal(await bookedCost('anthropic/claude-opus-5-5'), '0.0114')
})

test('B4: a call to a model without a known price is booked with an unknown cost, never with 0', async () => {
  assert.equal(await bookedCost('unpriced'), null)
  assert.equal(await bookedCost('anthropic/claude-unheard-of'), null)
  // The price of its output is unknown.
  assert.equal(await bookedCost('half'), null)
})

test('the demo model is booked with a cost of 0', async () => {
  assert.equal(await bookedCost('demo'), '0')
})

test('B4: with prices.unknown: refuse, a model without a known price is 403 before any upstream call', async () => {
  const calls = upstream.requests.length
  for (const model of ['unpriced', 'half', 'anthropic/claude-unheard-of']) {
    const answer = await refusing.post(ask(model))
    assert.equal(answer.status, 403)
    const { error } = (await answer.json()) as { error: { type: string; message: string } }
    assert.equal(error.type, 'permission_error')
    assert.match(error.message, new RegExp(`model ${model} has no known price`))
  }
  assert.equal(upstream.requests.length, calls)
})

test('B4: with prices.unknown: refuse, a group is served by its priced deployments, and the demo model answers', async () => {
  for (const model of ['priced', 'mixed', 'mixed', 'mixed', 'demo'])
    assert.equal((await refusing.post(ask(model))).status, 200)
  assert.deepEqual([...new Set(refusing.booked.map(({ deployment }) => deployment))], ['priced.1', 'mixed.2', 'demo'])
})

test('B4: a rejected model is still listed, with pricing null', async () => {
  const listed = (await (await fetch(`${refusing.url}/v1/models/unpriced`)).json()) as { pricing: unknown }
  assert.equal(listed.pricing, null)
})
