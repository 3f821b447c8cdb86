import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../platform/json.ts'
import { openaiChat } from './codec.ts'
import { contextOf, read } from './fixtures.ts'

const events = (body: unknown) => openaiChat.answer(body, contextOf({ stream: false }))
const whole = (message: Json, more: Json = {}) => ({
  id: 'chatcmpl-1',
  model: 'm',
  choices: [{ index: 0, message, finish_reason: 'stop', ...more }],
  usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
})

test('a whole answer has its reasoning, text, calls, usage and stop reason', () => {
  const call = (id: string, p: number) => ({ id, type: 'function', function: { name: 'ls', arguments: `{"p":${p}}` } })
  const message = { reasoning_content: 'Hm', content: 'Hi', tool_calls: [call('a', 1), call('b', 2)] }
  const { content, usage, stopReason } = read(events(whole(message, { finish_reason: 'tool_calls' })))
  assert.deepEqual(content, [
    { type: 'thinking', thinking: 'Hm', signature: 'sealed:reasoning_content' },
    { type: 'text', text: 'Hi' },
    { type: 'tool_use', id: 'a', name: 'ls', input: { p: 1 } },
    { type: 'tool_use', id: 'b', name: 'ls', input: { p: 2 } },
  ])
  assert.deepEqual([usage.input_tokens, usage.cache_read_tokens, usage.output_tokens], [5, 4, 3])
  assert.equal(stopReason, 'tool_use')
  assert.deepEqual(events(whole(message))[0], { type: 'message_start', id: 'chatcmpl-1', model: 'm' })
})

test('T13: calls of a whole answer with the same id stay separate', () => {
  const call = { id: 'a', function: { name: 'ls', arguments: '{}' } }
  const ids = read(events(whole({ tool_calls: [call, call] }))).content.map(block => block['id'])
  assert.equal(new Set(ids).size, 2)
})

test('T8: a call without arguments has an empty input', () => {
  const { content } = read(events(whole({ tool_calls: [{ id: 'a', function: { name: 'now' } }] })))
  assert.deepEqual(content, [{ type: 'tool_use', id: 'a', name: 'now', input: {} }])
})

const reasons: readonly (readonly [string, Json, string])[] = [
  ['S1: a call beside stop', whole({ tool_calls: [{ id: 'a', function: { name: 'x' } }] }), 'tool_use'],
  ['S2: length', whole({ content: 'a' }, { finish_reason: 'length' }), 'max_tokens'],
  ['S2: a refusal', whole({ content: null, refusal: 'No' }), 'refusal'],
  ['a whole answer that gives no reason', whole({ content: 'a' }, { finish_reason: null }), 'end_turn'],
]
for (const [what, body, reason] of reasons) {
  test(`${what} gives ${reason}`, () => assert.equal(read(events(body)).stopReason, reason))
}

const faults: readonly (readonly [string, unknown, string])[] = [
  ['an error with a good status', { error: { message: 'Down', code: 503 } }, 'Down'],
  ['an error in the choice', whole({ content: '' }, { finish_reason: 'error', error: { message: 'Lost' } }), 'Lost'],
  ['no choice', { choices: [] }, 'upstream response contains no message'],
  ['no object', 'hi', 'upstream response contains no message'],
]
for (const [what, body, message] of faults) {
  test(`E5: ${what} is an error, never an empty answer`, () => {
    const last = events(body).at(-1)
    assert.ok(last?.type === 'error')
    assert.equal(last.message, message)
  })
}
