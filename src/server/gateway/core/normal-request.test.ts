import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Protocol } from '../../config/protocols.ts'
import { recordsOf } from '../../platform/json.ts'
import { normalRequest } from './normal-request.ts'

const protocols: readonly Protocol[] = [
  ...(['anthropic-messages', 'bedrock-invoke', 'vertex-anthropic', 'bedrock-converse'] as const),
  ...(['openai-chat', 'openai-responses', 'gemini', 'demo'] as const),
]
const targetOf = (protocol: Protocol, model = 'claude-sonnet-5') =>
  targetAt(deploymentAt('https://upstream.example', { protocols: [protocol] }), model)

const tool = { name: 'look', input_schema: { type: 'object' } }
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUg==' } }
const sound = {
  max_tokens: 100,
  system: [{ type: 'text', text: 'Be brief.' }],
  tools: [tool],
  tool_choice: { type: 'auto' },
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'look' }, image] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
  ],
}

for (const protocol of protocols) {
  test(`${protocol}: a request without changes is not copied`, () => {
    const { request, degraded, names } = normalRequest(sound, targetOf(protocol))
    assert.equal(request, sound)
    assert.deepEqual([degraded, names.size], [[], 0])
  })
}

const text = fc.record({
  type: fc.constant('text'),
  text: fc.constantFrom('a', 'a ', ' ', 'x-anthropic-billing-header: 1'),
})
const ids = fc.constantFrom('a', 'a_2', 'b')
const call = fc.record({ type: fc.constant('tool_use'), id: ids, name: fc.constantFrom('look', 'a.b', '') })
const result = fc.record({ type: fc.constant('tool_result'), tool_use_id: ids, content: fc.jsonValue() })
const thinking = fc.record({ type: fc.constant('thinking'), signature: fc.constantFrom('', 'sy1.a', 'E') })
const turn = (role: string, ...blocks: fc.Arbitrary<unknown>[]) =>
  fc.record({ role: fc.constant(role), content: fc.oneof(fc.array(fc.oneof(text, ...blocks)), fc.jsonValue()) })
const messages = fc.array(fc.oneof(turn('user', result), turn('assistant', call, thinking), fc.jsonValue()))
const requests = fc.record({
  system: fc.oneof(fc.array(text), fc.jsonValue()),
  tools: fc.oneof(fc.array(fc.oneof(fc.constant(tool), fc.jsonValue())), fc.jsonValue()),
  tool_choice: fc.oneof(fc.constant({ type: 'tool', name: 'a.b' }), fc.jsonValue()),
  messages: fc.oneof(messages, fc.jsonValue()),
})

const many = <T>(count: number, of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at))

test('S50: 50,000 calls with one id get unique ids, and their results follow them, in linear time', () => {
  const calls = many(50_000, () => ({ type: 'tool_use', id: 'a', name: 'look', input: {} }))
  const results = many(50_000, () => ({ type: 'tool_result', tool_use_id: 'a', content: 'r' }))
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: calls },
    { role: 'user', content: results },
  ]
  const { request } = normalRequest({ ...sound, messages }, targetOf('openai-chat', 'gpt-5'))
  const [, called, answered] = recordsOf(request['messages']).map(({ content }) => recordsOf(content))
  assert.equal(new Set(called?.map(({ id }) => id)).size, 50_000)
  assert.deepEqual(
    answered?.map(({ tool_use_id: id }) => id),
    called?.map(({ id }) => id),
  )
})

test('S50: 50,000 blank texts at the end of a prefill are trimmed', () => {
  const blocks = [{ type: 'text', text: 'So ' }, ...many(50_000, () => ({ type: 'text', text: ' ' }))]
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: blocks },
  ]
  const { request } = normalRequest({ ...sound, messages }, targetOf('anthropic-messages', 'claude-sonnet-4-5'))
  assert.deepEqual(recordsOf(request['messages'])[1]?.['content'], [{ type: 'text', text: 'So' }])
})

test('any request is accepted, and is never mutated', () => {
  fc.assert(
    fc.property(requests, fc.constantFrom(...protocols), (request, protocol) => {
      const before = JSON.stringify(request)
      const { request: sent, degraded } = normalRequest(request, targetOf(protocol))
      assert.equal(JSON.stringify(request), before)
      if (degraded.length > 0) assert.notDeepEqual(sent, request)
    }),
    { numRuns: 500 },
  )
})

test('every result belongs to a call before it, and no two calls have one id', () => {
  fc.assert(
    fc.property(messages, given => {
      const { request } = normalRequest({ messages: given }, targetOf('openai-chat', 'gpt-5'))
      const blocks = recordsOf(request['messages']).flatMap(({ content }) => recordsOf(content))
      const calls = new Set<unknown>()
      for (const { type, id, tool_use_id: callId } of blocks) {
        if (type === 'tool_result') assert.ok(calls.has(callId))
        if (type !== 'tool_use') continue
        assert.ok(!calls.has(id))
        calls.add(id)
      }
    }),
    { numRuns: 500 },
  )
})
