import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Deployment } from '../../config/deployments.ts'
import { usdOf } from '../../platform/usd.ts'
import type { CallKind, Units } from '../core/call.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { toolCallsOf, toolChargeOf } from './tool-fees.ts'

const costOf = (provider: string, upstreamModel: string, calls: Units, changes: Partial<Deployment> = {}) =>
  usdOf(toolChargeOf({ deployment: deploymentAt('http://x', { provider, ...changes }), upstreamModel }, calls).pico)

const fees: readonly (readonly [provider: string, model: string, calls: Units, cost: string])[] = [
  ['anthropic', 'claude-opus-5', { web_search: 2 }, '0.02'],
  ['openai', 'gpt-5.5', { web_search: 2 }, '0.02'],
  ['openai', 'gpt-5.5', { web_search_preview: 2 }, '0.02'],
  ['openai', 'o4-mini', { web_search_preview: 1 }, '0.01'],
  ['openai', 'gpt-4.1', { web_search: 2 }, '0.02'],
  ['openai', 'gpt-4.1', { web_search_preview: 2 }, '0.05'],
  ['azure', 'gpt-4o-mini', { web_search_preview: 1 }, '0.025'],
  ['openai', 'gpt-4o-search-preview', { web_search: 1 }, '0.025'],
  ['openai', 'gpt-4.1', { file_search: 4, code_container: 1 }, '0.04'],
  ['gemini', 'gemini-3-pro', { web_search: 3 }, '0.042'],
  ['gemini', 'gemini-2.5-flash', { web_search: 3 }, '0.035'],
  ['vertex', 'gemini-2.0-flash', { web_search: 1 }, '0.035'],
  ['own', 'gpt-4.1', { web_search: 1, web_search_preview: 1 }, '0'],
]

for (const [provider, model, calls, cost] of fees) {
  test(`${provider} ${model} charges ${cost} for ${JSON.stringify(calls)}`, () =>
    assert.equal(costOf(provider, model, calls), cost))
}

test('the operator’s search price applies to both search tools', () => {
  const calls = { web_search: 1, web_search_preview: 1 }
  assert.equal(costOf('openai', 'gpt-4.1', calls, { searchPrice: 0.5 }), '1')
})

test('searches count for the earlier tool only when a Responses request offers it', () => {
  const usage = { ...noTokens, web_searches: 2 }
  const callsOf = (kind: CallKind, body: object) =>
    toolCallsOf(usage, { kind, body: Buffer.from(JSON.stringify(body)) })
  for (const type of ['web_search_preview', 'web_search_preview_2025_03_11'])
    assert.deepEqual(callsOf('responses', { tools: [{ type }] }), { web_search_preview: 2 })
  for (const body of [
    { tools: [{ type: 'web_search' }] },
    { input: 'web_search_preview', metadata: { type: 'web_search_preview' } },
    { input: 'web_search_preview', tools: 'web_search_preview' },
  ])
    assert.deepEqual(callsOf('responses', body), { web_search: 2 })
  assert.deepEqual(callsOf('chat', { tools: [{ type: 'web_search_preview' }] }), { web_search: 2 })
})
