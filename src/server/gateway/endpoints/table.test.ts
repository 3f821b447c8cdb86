import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { EndpointKind } from '../core/call.ts'
import { endpointPath, endpoints, hasEndpoint } from './table.ts'

const all = Object.keys(endpoints) as EndpointKind[]
const modelAt = (provider: string, apiBase = 'http://upstream.test') => ({
  deployment: deploymentAt(apiBase, { provider }),
  upstreamModel: 'm',
})

const lacking: Readonly<Record<string, readonly EndpointKind[]>> = {
  openai: ['rerank'],
  azure: ['moderations', 'rerank', 'image_variations'],
  openrouter: ['moderations', 'image_edits', 'image_variations', 'translations'],
  ollama: ['moderations', 'rerank', 'image_edits', 'image_variations', 'translations'],
  gemini: all.filter(kind => kind !== 'images'),
  anthropic: all,
  bedrock: all,
  vertex: all,
  'openai-compatible': [],
  groq: [],
}

for (const [provider, kinds] of Object.entries(lacking)) {
  test(`${provider} lacks ${kinds.join(', ') || 'no endpoint'}`, () =>
    assert.deepEqual(
      all.filter(kind => !hasEndpoint(kind, modelAt(provider))),
      kinds,
    ))
}

test('an endpoint is called at the path of its provider', () => {
  assert.equal(endpointPath('images', modelAt('openai')), '/images/generations')
  assert.equal(endpointPath('images', modelAt('openrouter')), '/images')
  assert.equal(endpointPath('speech', modelAt('openrouter')), '/audio/speech')
  assert.equal(endpointPath('rerank', modelAt('cohere')), '/v2/rerank')
  assert.equal(endpointPath('rerank', modelAt('cohere', 'http://upstream.test/v1')), '/rerank')
})
