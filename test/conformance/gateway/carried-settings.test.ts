import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf } from '../../../src/server/platform/json.ts'
import type { SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair } from './setup.ts'

const words = [{ role: 'user', content: 'hi' }]
const chat: Client = { path: '/v1/chat/completions', body: (changes: object) => ({ messages: words, ...changes }) }
const responses: Client = {
  path: '/v1/responses',
  body: (changes: object) => ({ messages: undefined, max_tokens: undefined, input: 'hi', ...changes }),
}
const gemini: Client = {
  path: '/v1beta/models/test-model:generateContent',
  body: (generationConfig: object) => ({
    ...{ model: undefined, messages: undefined, max_tokens: undefined },
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig,
  }),
}

interface Client {
  readonly path: string
  readonly body: (changes: object) => object
}

interface Fate {
  readonly client: Client
  readonly protocol: SpokenProtocol
  readonly provider: string
  readonly model: string
  /** What the client sets. */
  readonly given: object
  /** What the upstream gets of it. */
  readonly sent?: object
  /** What the client learns is lost. */
  readonly lost?: string
}

const onResponses = { client: chat, protocol: 'openai-responses', provider: 'openai', model: 'gpt-4.1' } as const
const onChat = { protocol: 'openai-chat', provider: 'openai', model: 'gpt-4.1' } as const
const onCompatible = { ...onChat, provider: 'openai-compatible', model: 'kimi-k3' } as const
const onGemini = { protocol: 'gemini', provider: 'gemini', model: 'gemini-2.5-flash' } as const
const onClaude = { protocol: 'anthropic-messages', provider: 'anthropic', model: 'claude-sonnet-4-6' } as const
const onBedrock = { protocol: 'bedrock-converse', provider: 'bedrock', model: 'amazon.nova-pro-v1:0' } as const

const sampling = { seed: 7, presence_penalty: 0.5, frequency_penalty: -0.5 }
const googleSampling = { seed: 7, presencePenalty: 0.5, frequencyPenalty: -0.5 }
const lostSampling = 'seed=dropped, presence_penalty=dropped, frequency_penalty=dropped'
const lostGoogleSampling = Object.keys(googleSampling)
  .map(name => `generationConfig.${name}=dropped`)
  .join(', ')

const fates: readonly Fate[] = [
  { ...onResponses, given: { service_tier: 'flex' }, sent: { service_tier: 'flex' } },
  { ...onResponses, given: { prompt_cache_key: 'k' }, sent: { prompt_cache_key: 'k' } },
  { ...onResponses, given: { prompt_cache_retention: '24h' }, sent: { prompt_cache_retention: '24h' } },
  { ...onResponses, given: { metadata: { a: 'b' } }, sent: { metadata: { a: 'b' } } },
  { ...onResponses, given: { verbosity: 'low' }, sent: { text: { verbosity: 'low' } } },
  { ...onResponses, given: { parallel_tool_calls: true }, sent: {} },
  { ...onResponses, given: { safety_identifier: 'u' }, sent: { safety_identifier: 'u' } },
  { ...onResponses, given: sampling, lost: lostSampling },
  { ...onResponses, given: { logit_bias: { 1: 2 } }, lost: 'logit_bias=dropped' },
  { ...onChat, client: responses, given: { service_tier: 'flex' }, sent: { service_tier: 'flex' } },
  { ...onChat, client: responses, given: { prompt_cache_key: 'k' }, sent: { prompt_cache_key: 'k' } },
  { ...onChat, client: responses, given: { metadata: { a: 'b' } }, sent: { metadata: { a: 'b' } } },
  { ...onChat, client: responses, given: { text: { verbosity: 'low' } }, sent: { verbosity: 'low' } },
  { ...onChat, client: gemini, given: googleSampling, sent: sampling },
  { ...onCompatible, client: gemini, given: googleSampling, sent: sampling },
  { ...onCompatible, client: responses, given: { service_tier: 'flex' }, lost: 'service_tier=dropped' },
  { ...onCompatible, client: responses, given: { text: { verbosity: 'low' } }, lost: 'text.verbosity=dropped' },
  { ...onGemini, client: chat, given: sampling, sent: { generationConfig: googleSampling } },
  { ...onGemini, client: chat, given: { service_tier: 'flex' }, lost: 'service_tier=dropped' },
  { ...onGemini, client: chat, given: { logit_bias: { 1: 2 } }, lost: 'logit_bias=dropped' },
  { ...onClaude, client: chat, given: sampling, lost: lostSampling },
  { ...onClaude, client: gemini, given: googleSampling, lost: lostGoogleSampling },
  { ...onClaude, client: responses, given: { service_tier: 'flex' }, lost: 'service_tier=dropped' },
  { ...onBedrock, client: chat, given: sampling, lost: lostSampling },
  { ...onBedrock, client: gemini, given: googleSampling, lost: lostGoogleSampling },
]

for (const { client, protocol, provider, model, given, sent = {}, lost = '' } of fates) {
  const name = client === chat ? 'chat' : client === responses ? 'responses' : 'gemini'
  test(`F2, ${name} on ${protocol} of ${provider}: ${JSON.stringify(given)} is ${lost === '' ? 'carried' : 'listed'}`, async t => {
    const pair = await startPair(t, protocol, { script: [{}], changes: { provider, upstreamModel: model } })
    const response = await pair.post(client.body(given), { path: client.path })
    assert.equal(response.status, 200, await response.text())
    assert.equal(response.headers.get('x-switchyard-degraded') ?? '', lost)
    const got = pair.sent()
    for (const [field, value] of Object.entries(sent))
      assert.deepEqual(got[field], typeof value === 'object' ? { ...recordOf(got[field]), ...recordOf(value) } : value)
    assert.ok(!('extras' in got))
    if (lost !== '') assert.doesNotMatch(pair.sentText(), /flex|verbosity|logit_bias|penalty|Penalty|"seed"/)
  })
}

for (const { protocol, provider, model } of [onResponses, onChat, onCompatible, onGemini, onBedrock]) {
  test(`F2, messages on ${protocol} of ${provider}: what a client calls extras is an unknown field, and is dropped`, async t => {
    const pair = await startPair(t, protocol, { script: [{}], changes: { provider, upstreamModel: model } })
    const extras = { model: 'dearer-model', max_completion_tokens: 99_999, n: 5, seed: 7, service_tier: 'priority' }
    const response = await pair.post({ extras })
    assert.equal(response.status, 200, await response.text())
    assert.equal(response.headers.get('x-switchyard-degraded'), 'extras=dropped')
    assert.doesNotMatch(pair.sentText(), /dearer|99999|priority|"seed"|extras/)
  })
}
