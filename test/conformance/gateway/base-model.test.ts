import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { afterCall, startPair, tool } from './setup.ts'

const path = '/v1/chat/completions'
const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc123'

interface Case {
  /** A deployment whose name does not identify the model. */
  readonly unnamed: Partial<Deployment>
  /** The model behind it. */
  readonly base: string
  /** Of that model. */
  readonly longest: number
  /** How it is asked to think. */
  readonly thinks: RegExp
}

const cases: Readonly<Record<SpokenProtocol, Case>> = {
  'anthropic-messages': {
    unnamed: { provider: 'anthropic', upstreamModel: 'tuned-1' },
    base: 'claude-sonnet-4-5',
    longest: 64_000,
    thinks: /"thinking":\{"type":"enabled","budget_tokens":\d+\}/,
  },
  'openai-chat': {
    unnamed: { provider: 'azure', upstreamModel: 'our-chat' },
    base: 'gpt-5.1',
    longest: 128_000,
    thinks: /"reasoning_effort":"high"/,
  },
  'openai-responses': {
    unnamed: { provider: 'azure', upstreamModel: 'our-model' },
    base: 'gpt-5.2',
    longest: 128_000,
    thinks: /"reasoning":\{"effort":"high"/,
  },
  gemini: {
    unnamed: { provider: 'gemini', upstreamModel: 'tuned-abc' },
    base: 'gemini-3-pro-preview',
    longest: 65_536,
    thinks: /"thinkingConfig":\{.*"thinkingLevel":"HIGH"/,
  },
  'bedrock-converse': {
    unnamed: { provider: 'bedrock', upstreamModel: arn },
    base: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    longest: 64_000,
    thinks: /"thinking":\{"type":"enabled","budget_tokens":\d+\}/,
  },
}

const asking = { max_tokens: undefined, reasoning_effort: 'high' }
const degradedOf = (response: Response): readonly string[] =>
  (response.headers.get('x-switchyard-degraded') ?? '').split(', ')

for (const protocol of everyProtocol) {
  const { unnamed, base, longest, thinks } = cases[protocol]
  const provider = unnamed.provider ?? ''
  const known = { ...unnamed, baseModel: { provider, model: base } }

  test(`F7, ${protocol}: a deployment is asked to think by the rules of its base_model, under its own name`, async t => {
    const { post, sentText, upstream } = await startPair(t, protocol, { script: [{}], changes: known })
    // What speaks the client's own format gets its bytes.
    const isPassthrough = protocol === 'openai-chat'
    const response = await (isPassthrough ? post({ output_config: { effort: 'high' } }) : post(asking, { path }))
    assert.equal(response.status, 200, await response.text())
    assert.match(sentText(), thinks)
    const sentTo = `${upstream.requests.at(-1)?.url} ${sentText()}`
    assert.ok(decodeURIComponent(sentTo).includes(unnamed.upstreamModel ?? ''), sentTo)
    assert.ok(!sentTo.includes(base), sentTo)
  })

  test(`F7, ${protocol}: a limit of the answer above that of the base_model is lowered, and one of capabilities comes first`, async t => {
    for (const [changes, most] of [
      [known, longest],
      [{ ...known, capabilities: { maxOutput: 4_321 } }, 4_321],
      [{ ...unnamed, capabilities: { maxOutput: 4_321 } }, 4_321],
    ] as const) {
      const { post, sentText } = await startPair(t, protocol, { script: [{}], changes })
      const response = await post({ max_tokens: 900_000 }, { path: protocol === 'openai-chat' ? '/v1/messages' : path })
      assert.ok(degradedOf(response).includes('max_tokens=lowered'), String(degradedOf(response)))
      assert.match(sentText(), new RegExp(`(max_tokens|_tokens|Tokens)":${most}\\b`))
    }
  })

  test(`F7, ${protocol}: a call costs what the base_model costs, and its price is unknown without one`, async t => {
    const { post, app } = await startPair(t, protocol, { script: [{ text: 'so' }], changes: known })
    await (await post({})).text()
    await app.bookedCalls(1)
    assert.match(app.booked[0]?.price_source ?? '', /^catalogue/)
    assert.ok(Number(app.booked[0]?.cost_usd) > 0)
    const other = await startPair(t, protocol, { script: [{ text: 'so' }], changes: unnamed })
    await (await other.post({})).text()
    await other.app.bookedCalls(1)
    assert.equal(other.app.booked[0]?.cost_usd, null)
  })

  test(`F7, ${protocol}: a model that cannot reason is never asked to, whatever its name, and the client is notified`, async t => {
    const changes = { ...known, capabilities: { reasoning: false } }
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes })
    const wish = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }
    const isPassthrough = protocol === 'anthropic-messages'
    const response = await (isPassthrough ? post(asking, { path }) : post(wish))
    assert.equal(response.status, 200, await response.text())
    assert.doesNotMatch(sentText(), /"(thinking|reasoning|reasoning_effort|thinkingConfig|effort)"/)
    const lost = isPassthrough ? 'reasoning_effort=dropped' : 'thinking=dropped'
    assert.ok(degradedOf(response).includes(lost), String(degradedOf(response)))
  })
}

/** Protocols whose codecs carry reasoning, and where it is in the next request. */
const carriers: readonly (readonly [SpokenProtocol, RegExp])[] = [
  ['openai-responses', /"encrypted_content":"sig_0"/],
  ['gemini', /"thoughtSignature":"sig_0"/],
  ['bedrock-converse', /"signature":"sig_0"/],
]

for (const [protocol, returned] of carriers) {
  for (const upstreamModel of ['our-own-name', cases[protocol].unnamed.upstreamModel ?? '']) {
    test(`F7, ${protocol}: what ${upstreamModel} thought goes back to it, though its name does not identify the model`, async t => {
      const changes = { ...cases[protocol].unnamed, upstreamModel }
      const { request: ask, sentText } = await startPair(t, protocol, {
        script: [{ thinking: 'first this', text: 'so' }, {}],
        changes,
      })
      const { content } = await ask({ max_tokens: 4_096 })
      const turns = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content },
        { role: 'user', content: 'go on' },
      ]
      await ask({ max_tokens: 4_096, messages: turns })
      assert.match(sentText(), returned)
    })
  }
}

test('F7, gemini: the signature of a call goes back to a model whose name does not identify the model', async t => {
  const script = [{ tool_calls: [{ name: 'look', input: { what: 'it' }, id: 'toolu_1' }] }, {}]
  const { request: ask, sentText } = await startPair(t, 'gemini', { script, changes: cases.gemini.unnamed })
  await ask({ tools: [tool] })
  await ask(afterCall('seen'))
  assert.match(sentText(), /"thoughtSignature":"thought_toolu_1"/)
})

test('F7, anthropic-messages: thinking without a signature never reaches a deployment whose base_model is Claude', async t => {
  const { unnamed, base } = cases['anthropic-messages']
  const unsigned = [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'text', text: 'so' },
      ],
    },
    { role: 'user', content: 'go on' },
  ]
  for (const [baseModel, isKept] of [
    [{ provider: 'anthropic', model: base }, false],
    [{ provider: 'anthropic', model: 'kimi-k3' }, true],
  ] as const) {
    const { post, sentText } = await startPair(t, 'anthropic-messages', {
      script: [{}],
      changes: { ...unnamed, baseModel },
    })
    await (await post({ messages: unsigned })).text()
    assert.equal(/"thinking":"hm"/.test(sentText()), isKept)
  }
})

for (const [protocol, path] of [
  ['openai-chat', '/v1/responses'],
  ['openai-responses', '/v1/chat/completions'],
] as const) {
  test(`F7, ${protocol}: a base_model that the upstream serves in one protocol alone decides on the protocol`, async t => {
    const model = protocol === 'openai-chat' ? 'gpt-audio' : 'gpt-5.2-codex'
    const { post, upstream } = await startPair(t, protocol, {
      script: [{}],
      changes: {
        provider: 'azure',
        upstreamModel: 'our-model',
        protocols: ['openai-responses', 'openai-chat'],
        baseModel: { provider: 'azure', model },
      },
    })
    const input = path === '/v1/responses' ? { input: 'hi', messages: undefined, max_tokens: undefined } : {}
    const response = await post(input, { path })
    assert.equal(response.status, 200, await response.text())
    assert.match(upstream.requests.at(-1)?.url ?? '', protocol === 'openai-chat' ? /chat\/completions$/ : /responses$/)
  })
}

test('F7, bedrock-converse: neither an answer nor GET /v1/model/info shows the account in an ARN', async t => {
  const { unnamed, base } = cases['bedrock-converse']
  const changes = { ...unnamed, baseModel: { provider: 'bedrock', model: base } }
  const { post, app } = await startPair(t, 'bedrock-converse', { script: [{}], changes })
  const answer = await (await post({})).text()
  const info = await (await fetch(`${app.url}/v1/model/info`)).text()
  assert.doesNotMatch(`${answer} ${info}`, /123456789012/)
  assert.match(info, /"key":"arn:aws:bedrock:eu-central-1:\.\.\.:application-inference-profile\/abc123"/)
  assert.match(info, /"base_model":"anthropic.claude-sonnet-4-5-20250929-v1:0"/)
})
