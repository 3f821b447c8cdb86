import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responsesUsageOf } from '../../tokens/stated-usage.ts'
import { openaiResponses } from './codec.ts'
import { contextOf, read, responseOf, type ScriptedItem } from './fixtures.ts'

const answer = (body: unknown) => read(openaiResponses.answer(body, contextOf()))

test('a whole answer equals its stream', () => {
  const items: readonly ScriptedItem[] = [
    { kind: 'reasoning', summaries: [['a'], ['b']], encrypted: 'gAAA' },
    { kind: 'text', pieces: ['Hello'] },
    { kind: 'call', id: 'call_1', name: 'read', pieces: ['{"a":1}'] },
  ]
  const { content, stopReason, error } = answer(responseOf(items))
  assert.deepEqual(
    content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use'],
  )
  assert.deepEqual([stopReason, error], ['tool_use', undefined])
})

test('S2: an incomplete answer has the stop reason', () => {
  const changes = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  assert.equal(answer(responseOf([{ kind: 'text', pieces: ['a'] }], changes)).stopReason, 'max_tokens')
})

const failures = [
  ['a failed response', responseOf([], { status: 'failed', error: { code: 'server_error', message: 'x' } })],
  ['an error with status 200', { error: { message: 'x' } }],
  ['a response that is still at work', responseOf([], { status: 'in_progress' })],
  ['a cancelled response', responseOf([], { status: 'cancelled' })],
  ['another format', { choices: [] }],
  ['a list', []],
  ['text', 'hello'],
] as const

for (const [name, body] of failures) {
  test(`S4: ${name} is an error, not an empty answer`, () => {
    const { error, message } = answer(body)
    assert.equal(error?.code, 'upstream_unreachable')
    assert.equal(message, undefined)
  })
}

const usages = [
  [
    'U3: cached tokens',
    { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 2 },
    [5, 4, undefined, undefined, 2],
  ],
  [
    'U3: more cached than counted',
    { input_tokens: 3, input_tokens_details: { cached_tokens: 4 } },
    [0, 4, undefined, undefined, undefined],
  ],
  [
    'U5: cache writes',
    { input_tokens: 9, input_tokens_details: { cached_tokens: 1, cache_write_tokens: 5 } },
    [3, 1, 5, undefined, undefined],
  ],
  [
    'U5: cache writes by lifetime',
    {
      input_tokens: 9,
      input_tokens_details: {
        cached_tokens: 0,
        cache_write_tokens: 5,
        cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 2 },
      },
    },
    [4, 0, 3, 2, undefined],
  ],
  [
    'nonsense',
    { input_tokens: -1, output_tokens: '7', input_tokens_details: 3 },
    [undefined, undefined, undefined, undefined, undefined],
  ],
  ['nothing', null, [undefined, undefined, undefined, undefined, undefined]],
] as const

for (const [name, usage, expected] of usages) {
  test(`${name} are split so that no token is counted twice`, () => {
    const { input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } =
      responsesUsageOf(usage, undefined)
    assert.deepEqual(
      [input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens],
      expected,
    )
  })
}
