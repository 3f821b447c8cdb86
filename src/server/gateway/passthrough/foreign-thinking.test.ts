import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { isClaude } from '../formats/shared/model-traits.ts'
import { withoutForeignThinking } from './foreign-thinking.ts'

const cleaned = (body: unknown, toClaude = false) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { body: left, degraded } = withoutForeignThinking(Buffer.from(text), { toClaude })
  return { text: left.toString(), left: JSON.parse(left.toString()), degraded }
}
const turn = (...content: unknown[]) => ({ model: 'm', messages: [{ role: 'assistant', content }] })
const sealed = { type: 'thinking', thinking: 'hm', signature: 'sy1.k.p.m' }
const signed = { type: 'thinking', thinking: '', signature: 'EqQB' }
const unsigned = { type: 'thinking', thinking: 'hm' }
const text = { type: 'text', text: 'says "thinking": and "signature":"sy1.x"' }
const call = { type: 'tool_use', id: 't', name: 'n', input: { type: 'thinking', signature: '', thinking: 'an input' } }

test('K4: encrypted thinking is removed for every upstream of Anthropic’s format, and each removal is listed', () => {
  const { left, degraded } = cleaned(turn(sealed, text, sealed, call))
  assert.deepEqual(left, turn(text, call))
  assert.deepEqual(degraded, [
    { path: 'messages.0.content.0', action: 'dropped' },
    { path: 'messages.0.content.2', action: 'dropped' },
  ])
})

test('K4: thinking without a signature is removed only for Claude', () => {
  const body = turn(unsigned, { ...unsigned, signature: '' }, signed, text)
  assert.deepEqual(cleaned(body).left, body)
  assert.deepEqual(cleaned(body, true).left, turn(signed, text))
})

test('K1, K3: signed and redacted thinking is kept byte for byte, even with empty text', () => {
  const body = JSON.stringify(turn(signed, { type: 'redacted_thinking', data: 'EmwK' }, sealed, text))
  assert.equal(cleaned(body, true).text, body.replace(`${JSON.stringify(sealed)},`, ''))
})

test('a message without other content gets the smallest valid content', () => {
  const user = { role: 'user', content: 'hi' }
  const { left } = cleaned({ messages: [user, { role: 'assistant', content: [sealed, unsigned] }, user] }, true)
  assert.deepEqual(left.messages[1], { role: 'assistant', content: [{ type: 'text', text: '...' }] })
})

const untouched = [
  ['a body without thinking', turn(text)],
  ['text and input that look like thinking', turn(text, call)],
  ['content that is a string', { messages: [{ role: 'user', content: '"sy1."' }] }],
  ['the top-level thinking field', { thinking: { type: 'adaptive' }, messages: [] }],
  ['messages of an unknown kind', { messages: [1, null, [unsigned], { content: { type: 'thinking' } }] }],
] as const

for (const [what, body] of untouched) {
  test(`${what} is not changed`, () => {
    const bytes = Buffer.from(JSON.stringify(body, null, 2))
    const { body: left, degraded } = withoutForeignThinking(bytes, { toClaude: true })
    assert.equal(left, bytes)
    assert.deepEqual(degraded, [])
  })
}

test('a signature counts at any place in its block', () => {
  const sorted = turn({ signature: 'EqQB', thinking: 'hm', type: 'thinking' }, { n: 1, thinking: '', type: 'thinking' })
  assert.deepEqual(cleaned(sorted, true).left.messages[0].content.length, 1)
})

const blocks = fc.array(fc.oneof(fc.constantFrom<unknown>(sealed, signed, unsigned, text, call), fc.jsonValue()), {
  maxLength: 6,
})
const messages = fc.array(
  fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.oneof(blocks, fc.string()) }),
  { maxLength: 5 },
)

test('exactly the foreign blocks are removed from any body', () => {
  const isForeign = (block: unknown): boolean =>
    block !== null &&
    (JSON.stringify(block) === JSON.stringify(sealed) || JSON.stringify(block) === JSON.stringify(unsigned))
  fc.assert(
    fc.property(messages, fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (list, extra, space) => {
      const body = { extra, messages: list, model: 'm' }
      const expected = list.map(({ role, content }) => {
        if (typeof content === 'string' || !content.some(isForeign)) return { role, content }
        const kept = content.filter(block => !isForeign(block))
        return { role, content: kept.length > 0 ? kept : [{ type: 'text', text: '...' }] }
      })
      const { left } = cleaned(JSON.stringify(body, null, space), true)
      assert.deepEqual(left, JSON.parse(JSON.stringify({ ...body, messages: expected })))
      // A second pass removes nothing.
      assert.deepEqual(cleaned(left, true).degraded, [])
    }),
    { numRuns: 500 },
  )
})

test('Claude is recognised by its model name at any address, and by the protocol at Bedrock and Vertex', () => {
  const claude = (upstreamModel: string, changes = {}) =>
    isClaude(targetAt(deploymentAt('https://proxy.example', changes), upstreamModel))
  assert.deepEqual(
    [
      claude('claude-sonnet-5'),
      claude('anthropic/Claude-4.5-opus'),
      claude('kimi-k3'),
      claude('arn:aws:bedrock:us-east-1:1:application-inference-profile/x', { protocols: ['bedrock-invoke'] }),
      claude('mine', { protocols: ['vertex-anthropic'] }),
    ],
    [true, true, false, true, true],
  )
})

test('S50: 100,000 thinking blocks of one message are removed in linear time', () => {
  const { left } = cleaned(turn(...Array.from({ length: 100_000 }, () => sealed), text))
  assert.deepEqual(left, turn(text))
})
