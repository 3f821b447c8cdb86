import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import type { SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { afterCall, startPair, tool } from './setup.ts'

const thinkingOn = { thinking: { type: 'adaptive' }, max_tokens: 4096 }

/** Protocols that carry reasoning state from turn to turn, and where it is in the next request. */
const carriers: readonly (readonly [SpokenProtocol, (sent: string) => boolean])[] = [
  ['openai-responses', sent => sent.includes('"encrypted_content":"sig_0"')],
  ['gemini', sent => sent.includes('"thoughtSignature":"sig_0"')],
  ['bedrock-converse', sent => sent.includes('"signature":"sig_0"')],
]

for (const [protocol, isCarried] of carriers) {
  for (const thinking of ['first this, then that', '']) {
    const what = thinking === '' ? 'K3' : 'K2'
    test(`${what}, ${protocol}: thinking ${thinking === '' ? 'without text ' : ''}keeps its signature, which reaches the upstream again as it was`, async t => {
      const { stream, sentText } = await startPair(t, protocol, { script: [{ thinking, text: 'so' }, {}] })
      const { content } = await stream(thinkingOn)
      assert.equal(content[0]?.['type'], 'thinking')
      assert.notEqual(content[0]?.['signature'], '')
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content },
        { role: 'user', content: 'go on' },
      ]
      await stream({ ...thinkingOn, messages })
      assert.ok(isCarried(sentText()), sentText())
    })
  }

  test(`K4, ${protocol}: thinking that another provider signed is omitted, and listed`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: foreign[protocol] ?? {} })
    const content = [
      { type: 'thinking', thinking: 'strange thoughts', signature: 'of-somebody-else' },
      { type: 'text', text: 'so' },
    ]
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'go on' },
    ]
    const response = await post({ messages })
    assert.equal(response.status, 200)
    assert.ok(!sentText().includes('strange thoughts'))
    assert.match(response.headers.get('x-switchyard-degraded') ?? '', /messages\.1\.content\.0=/)
  })
}

/** Claude's own signatures cannot be distinguished from others, so on Bedrock another model shows the rule. */
const foreign: Readonly<Record<string, object>> = { 'bedrock-converse': { upstreamModel: 'amazon.nova-pro-v1:0' } }

test('K5: Gemini’s signature on a call is back in place on the next turn', async t => {
  const script = [{ tool_calls: [{ name: 'look', input: { what: 'it' }, id: 'toolu_1' }] }, {}]
  const { stream, sentText } = await startPair(t, 'gemini', { script })
  const { content } = await stream({ tools: [tool] })
  assert.ok(!JSON.stringify(content).includes('thought_toolu_1'))
  await stream(afterCall('seen'))
  assert.ok(sentText().includes('"thoughtSignature":"thought_toolu_1"'), sentText())
})

test('K5: a call whose signature is not known goes with Google’s sentinel', async t => {
  const { stream, sentText } = await startPair(t, 'gemini', { script: [{}] })
  await stream(afterCall('seen'))
  assert.ok(sentText().includes('skip_thought_signature_validator'))
})

test('K6: reasoning of OpenAI is asked for with a summary', async t => {
  const { stream, sent } = await startPair(t, 'openai-responses', { script: [{}] })
  await stream(thinkingOn)
  assert.equal(sent<{ reasoning: { summary: string } }>().reasoning.summary, 'auto')
})

const withoutThinking: readonly (readonly [SpokenProtocol, string])[] = [
  ['openai-chat', 'any-model'],
  ['openai-responses', 'gpt-4o'],
  ['gemini', 'gemini-1.5-flash'],
  ['bedrock-converse', 'amazon.nova-pro-v1:0'],
]

for (const [protocol, upstreamModel] of withoutThinking) {
  for (const thinking of [{ type: 'adaptive' }, { type: 'enabled', budget_tokens: 1024 }]) {
    test(`K7, ${protocol}: thinking ${thinking.type} for a model without it is dropped and listed`, async t => {
      const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { upstreamModel } })
      const response = await post({ thinking, max_tokens: 4096 })
      assert.equal(response.status, 200)
      assert.match(response.headers.get('x-switchyard-degraded') ?? '', /thinking/)
      assert.doesNotMatch(sentText(), /"(thinking|reasoning|reasoning_effort|thinkingConfig)"/)
    })
  }
}

test('K7: a reasoning model gets no temperature and no top_p, and both are listed', async t => {
  const { post, sent } = await startPair(t, 'openai-responses', { script: [{}] })
  const response = await post({ ...thinkingOn, temperature: 0.3, top_p: 0.9 })
  assert.deepEqual([sent()['temperature'], sent()['top_p']], [undefined, undefined])
  assert.match(response.headers.get('x-switchyard-degraded') ?? '', /temperature=.*top_p=/)
})

test('K8: the thinking of a stream that broke off is not signed', async t => {
  const part = (parts: object[]) => dataFrame({ candidates: [{ content: { parts } }] })
  const frames = [part([{ text: 'half a thou', thought: true }])]
  const { stream } = await startPair(t, 'gemini', { script: [{ frames }] })
  const { content, error } = await stream()
  assert.ok(error)
  assert.equal(content[0]?.['signature'], '')
})
