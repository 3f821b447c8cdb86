import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair } from './setup.ts'

const path = '/v1/chat/completions'
const hi = { role: 'user', content: 'hi' }
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const asking = { max_tokens: 4096, reasoning_effort: 'high', tools: [look] }
const thinking = 'first this, then that'
const script = [{ thinking, tool_calls: [{ name: 'look', input: {}, id: 'call_1' }] }, {}]

/** Upstreams that want their reasoning back, and where it is in the next request. */
const carriers: readonly (readonly [SpokenProtocol, string])[] = [
  ['anthropic-messages', '"signature":"sig_0"'],
  ['openai-responses', '"encrypted_content":"sig_0"'],
  ['gemini', '"thoughtSignature":"sig_0"'],
  ['bedrock-converse', '"signature":"sig_0"'],
]

interface Message {
  readonly reasoning_content?: string
  readonly reasoning_details?: readonly { readonly signature?: string; readonly text?: string }[]
}

/** What a client has put together from the chunks of a stream. */
function collected(stream: string) {
  const lines = stream.split('\n').filter(line => line.startsWith('data: {'))
  const deltas = lines.map(line => JSON.parse(line.slice(6)).choices[0]?.delta ?? {})
  return {
    role: 'assistant',
    content: null,
    reasoning_content: deltas.map(delta => delta.reasoning_content ?? '').join(''),
    reasoning_details: deltas.flatMap(delta => delta.reasoning_details ?? []),
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  }
}

for (const [protocol, returned] of carriers) {
  for (const stream of [false, true]) {
    const how = stream ? 'a stream' : 'an answer'
    test(`F9, ${protocol}: a chat client gets the signatures of ${how}, and what it sends back reaches the model again`, async t => {
      const { post, sentText } = await startPair(t, protocol, { script })
      const first = await post({ ...asking, stream, messages: [hi] }, { path })
      const text = await first.text()
      const message: Message = stream ? collected(text) : JSON.parse(text).choices[0].message
      const [detail] = message.reasoning_details ?? []
      assert.deepEqual([message.reasoning_content, detail?.text], [thinking, thinking])
      assert.ok(detail?.signature, text)
      const messages = [hi, message, { role: 'tool', tool_call_id: 'call_1', content: 'seen' }]
      const second = await post({ ...asking, messages }, { path })
      assert.equal(second.status, 200, await second.text())
      assert.ok(sentText().includes(returned), sentText())
      assert.doesNotMatch(second.headers.get('x-switchyard-degraded') ?? '', /reasoning/)
    })
  }
}

for (const protocol of ['anthropic-messages', 'bedrock-converse'] as const) {
  const models = {
    'anthropic-messages': ['claude-sonnet-4-5', 'claude-sonnet-4-6'],
    'bedrock-converse': ['anthropic.claude-sonnet-4-5-v1:0', 'anthropic.claude-sonnet-4-6-v1:0'],
  }[protocol]
  for (const [at, upstreamModel] of models.entries()) {
    const isOlder = at === 0
    const what = isOlder ? 'is not asked to think on' : 'thinks on'
    test(`F9, ${protocol}: behind calls whose thinking is gone ${upstreamModel} ${what}`, async t => {
      const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { upstreamModel } })
      const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
      const messages = [
        hi,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'x' },
      ]
      const response = await post({ ...asking, messages }, { path })
      assert.equal(response.status, 200, await response.text())
      assert.equal(/"thinking":\{/.test(sentText()), !isOlder, sentText())
      const degraded = (response.headers.get('x-switchyard-degraded') ?? '').split(', ')
      assert.equal(degraded.includes('reasoning_effort=dropped'), isOlder, String(degraded))
    })
  }
}
