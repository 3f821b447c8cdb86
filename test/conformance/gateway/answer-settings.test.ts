import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair } from './setup.ts'

const words = [{ role: 'user', content: 'hi' }]

/** Clients of other formats than Anthropic's, with the settings of an answer as each spells them. */
const clients = {
  chat: {
    path: '/v1/chat/completions',
    native: 'openai-chat',
    names: { limit: 'max_completion_tokens', temperature: 'temperature', topP: 'top_p' },
    body: ({ limit, temperature, topP }: Wish) => ({
      messages: words,
      max_completion_tokens: limit,
      temperature,
      top_p: topP,
    }),
  },
  responses: {
    path: '/v1/responses',
    native: 'openai-responses',
    names: { limit: 'max_output_tokens', temperature: 'temperature', topP: 'top_p' },
    body: ({ limit, temperature, topP }: Wish) => ({ input: 'hi', max_output_tokens: limit, temperature, top_p: topP }),
  },
  gemini: {
    path: '/v1beta/models/test-model:generateContent',
    native: 'gemini',
    names: {
      limit: 'generationConfig.maxOutputTokens',
      temperature: 'generationConfig.temperature',
      topP: 'generationConfig.topP',
    },
    body: ({ limit, temperature, topP }: Wish) => ({
      model: undefined,
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { maxOutputTokens: limit, temperature, topP },
    }),
  },
} as const

interface Wish {
  readonly limit?: number
  readonly temperature?: number
  readonly topP?: number
}

const pairs = Object.entries(clients).flatMap(([name, client]) =>
  everyProtocol.filter(protocol => protocol !== client.native).map(protocol => [name, client, protocol] as const),
)

const settingOf = (text: string, names: RegExp): number | undefined => {
  const found = new RegExp(`"(?:${names.source})":([\\d.]+)`).exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}
const limits = /max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens/
const temperatures = /temperature/
const topPs = /top_p|topP/

/** An upstream with a model whose limit is known, and which takes sampling settings. */
const model = (protocol: SpokenProtocol): string =>
  ({
    'anthropic-messages': 'claude-sonnet-4-6',
    'openai-chat': 'gpt-4.1',
    'openai-responses': 'gpt-4.1',
    gemini: 'gemini-2.5-flash',
    'bedrock-converse': 'anthropic.claude-sonnet-4-6-v1:0',
  })[protocol]

const ownLimits: Readonly<Record<SpokenProtocol, number>> = {
  'anthropic-messages': 128_000,
  'openai-chat': 32_768,
  'openai-responses': 32_768,
  gemini: 65_535,
  'bedrock-converse': 128_000,
}

for (const [name, { path, body, names }, protocol] of pairs) {
  const start = async (t: Parameters<typeof startPair>[0], wish: Wish) => {
    const pair = await startPair(t, protocol, { script: [{}], changes: { upstreamModel: model(protocol) } })
    const given = { ...body(wish), max_tokens: undefined, ...(name !== 'chat' && { messages: undefined }) }
    const response = await pair.post(given, { path })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return { sent: pair.sentText(), degraded: response.headers.get('x-switchyard-degraded') ?? '' }
  }

  test(`F1, ${name} on ${protocol}: a call without a limit gets none, or the model's own where one is required`, async t => {
    const { sent, degraded } = await start(t, {})
    const expected = protocol === 'anthropic-messages' ? ownLimits[protocol] : undefined
    assert.equal(settingOf(sent, limits), expected, sent)
    assert.equal(degraded, '')
  })

  test(`F1, ${name} on ${protocol}: a limit above the model's is lowered and reported, one below stays`, async t => {
    const high = await start(t, { limit: 1_000_000 })
    assert.equal(settingOf(high.sent, limits), ownLimits[protocol])
    assert.equal(high.degraded, `${names.limit}=lowered`)
    const low = await start(t, { limit: 1_000 })
    assert.equal(settingOf(low.sent, limits), 1_000)
    assert.equal(low.degraded, '')
  })

  test(`F6, ${name} on ${protocol}: values out of the upstream's range are clamped and reported`, async t => {
    const { sent, degraded } = await start(t, { temperature: 5, topP: 1.5 })
    const isClaude = protocol === 'anthropic-messages' || protocol === 'bedrock-converse'
    assert.equal(settingOf(sent, temperatures), isClaude ? 1 : 2, sent)
    assert.ok(degraded.startsWith(`${names.temperature}=clamped, ${names.topP}=clamped`), degraded)
  })

  test(`F6, ${name} on ${protocol}: temperature with top_p is sent where both are accepted, and newer Claude gets the first`, async t => {
    const { sent, degraded } = await start(t, { temperature: 0.4, topP: 0.9 })
    const isClaude = protocol === 'anthropic-messages' || protocol === 'bedrock-converse'
    assert.equal(settingOf(sent, temperatures), 0.4)
    assert.equal(settingOf(sent, topPs), isClaude ? undefined : 0.9)
    assert.equal(degraded, isClaude ? `${names.topP}=dropped` : '')
  })
}
