import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sent } from './fixtures.ts'

const weather = { name: 'weather', description: 'd', input_schema: { type: 'object', properties: { a: {} } } }

test('a tool becomes a function that is strict only on request', () => {
  const { input_schema: parameters, ...named } = weather
  assert.deepEqual(sent({ tools: [weather] }).body['tools'], [
    { type: 'function', ...named, parameters, strict: false },
  ])
})

test('a tool without properties gets an empty object of properties', () => {
  const { body } = sent({ tools: [{ type: 'custom', name: 'now', input_schema: { type: 'object' } }] })
  assert.deepEqual(body['tools'], [
    { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: false },
  ])
})

test('strict is kept if the upstream supports the schema, else dropped and recorded', () => {
  const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
  const optional = { ...closed, required: [] }
  const { body, degraded } = sent({
    tools: [
      { name: 'a', strict: true, input_schema: closed },
      { name: 'b', strict: true, input_schema: optional, input_examples: [{}] },
    ],
  })
  assert.deepEqual(
    (body['tools'] as { strict: boolean }[]).map(({ strict }) => strict),
    [true, false],
  )
  assert.deepEqual(degraded, ['tools.1.input_examples=dropped', 'tools.1.strict=dropped'])
})

const choices = [
  [{ type: 'any' }, 'required'],
  [{ type: 'auto' }, 'auto'],
  [{ type: 'none' }, 'none'],
  [
    { type: 'tool', name: 'weather' },
    { type: 'function', name: 'weather' },
  ],
  [{ type: 'tool', name: 'web_search' }, { type: 'web_search' }],
] as const

for (const [choice, expected] of choices) {
  test(`M7: tool_choice ${JSON.stringify(choice)} becomes ${JSON.stringify(expected)}`, () => {
    const tools = [weather, { type: 'web_search_20260318', name: 'web_search' }]
    const { body } = sent({ tools, tool_choice: choice })
    assert.deepEqual(body['tool_choice'], expected)
    assert.equal('parallel_tool_calls' in body, false)
  })
}

test('M7: disable_parallel_tool_use becomes parallel_tool_calls false', () => {
  const { body } = sent({ tools: [weather], tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
  assert.equal(body['parallel_tool_calls'], false)
})

test('M7: a forced choice without tools is dropped and recorded', () => {
  const { body, degraded } = sent({ tools: [], tool_choice: { type: 'any' } })
  assert.equal('tool_choice' in body, false)
  assert.deepEqual(degraded, ['tool_choice=dropped'])
})

test('M10: web search becomes the native tool with its filters, place and limit', () => {
  const { body, degraded } = sent({
    tools: [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 3,
        blocked_domains: ['spam.test'],
        allowed_domains: [],
        user_location: { type: 'approximate', city: 'Berlin', country: 'DE' },
      },
    ],
  })
  assert.deepEqual(body['tools'], [
    {
      type: 'web_search',
      filters: { blocked_domains: ['spam.test'] },
      user_location: { type: 'approximate', city: 'Berlin', country: 'DE' },
    },
  ])
  assert.equal(body['max_tool_calls'], 3)
  assert.deepEqual(degraded, [])
})

const refused = [
  [
    { type: 'code_execution_20260521', name: 'code_execution' },
    /^tools\.1: a tool of type code_execution_20260521 has no/,
  ],
  [{ input_schema: {} }, /^tools\.1\.name /],
  ['nonsense', /^tools\.1 must be an object/],
] as const

for (const [tool, message] of refused) {
  test(`M10: ${JSON.stringify(tool)} is rejected with its path`, () => {
    assert.throws(() => sent({ tools: [weather, tool] }), { code: 'invalid_request', message })
  })
}
