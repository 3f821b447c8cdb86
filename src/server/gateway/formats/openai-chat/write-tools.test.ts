import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import { openAi, sent } from './fixtures.ts'

const schema = { type: 'object', properties: { p: { type: 'string' } }, additionalProperties: false }
const ls = { name: 'ls', description: 'Lists', input_schema: schema }
const lsFunction = { type: 'function', function: { name: 'ls', description: 'Lists', parameters: schema } }

function toolsOf(request: Json, changes: Partial<CodecContext> = {}) {
  const { body, degraded } = sent(request, changes)
  const { tools, tool_choice, parallel_tool_calls } = body
  return {
    degraded,
    ...(tools !== undefined && { tools }),
    ...(tool_choice !== undefined && { tool_choice }),
    ...(parallel_tool_calls !== undefined && { parallel_tool_calls }),
  }
}

const choices: readonly (readonly [string, Json, Json])[] = [
  ['M7: auto is auto', { type: 'auto' }, { tool_choice: 'auto' }],
  ['M7: any is required', { type: 'any' }, { tool_choice: 'required' }],
  ['M7: none is none', { type: 'none' }, { tool_choice: 'none' }],
  [
    'M7: the choice tool becomes the named function',
    { type: 'tool', name: 'ls' },
    { tool_choice: { type: 'function', function: { name: 'ls' } } },
  ],
  [
    'M7: disable_parallel_tool_use becomes parallel_tool_calls false',
    { type: 'auto', disable_parallel_tool_use: true },
    { tool_choice: 'auto', parallel_tool_calls: false },
  ],
]
for (const [guarantee, choice, expected] of choices) {
  test(guarantee, () => {
    assert.deepEqual(toolsOf({ tools: [ls], tool_choice: choice }), { tools: [lsFunction], ...expected, degraded: [] })
  })
}

test('M7: models that reject parallel_tool_calls do not get it', () => {
  const got = toolsOf({ tools: [ls], tool_choice: { type: 'any', disable_parallel_tool_use: true } }, openAi('o3'))
  assert.deepEqual(got, {
    tools: [lsFunction],
    tool_choice: 'required',
    degraded: ['tool_choice.disable_parallel_tool_use=dropped'],
  })
})

test('a choice without tools is not sent', () => {
  assert.deepEqual(toolsOf({ tools: [], tool_choice: { type: 'auto', disable_parallel_tool_use: true } }), {
    degraded: [],
  })
})

test('strict is sent where the schema fits it, and else recorded', () => {
  const strict = { ...ls, strict: true }
  assert.deepEqual(toolsOf({ tools: [strict] }), { tools: [lsFunction], degraded: ['tools.0.strict=dropped'] })
  const complete = { ...schema, required: ['p'] }
  assert.deepEqual(toolsOf({ tools: [{ ...strict, input_schema: complete }] }), {
    tools: [{ type: 'function', function: { ...lsFunction.function, parameters: complete, strict: true } }],
    degraded: [],
  })
})

test('fields without an equivalent are recorded', () => {
  const tool = {
    ...ls,
    type: 'custom',
    defer_loading: true,
    input_examples: [{ p: 'a' }],
    eager_input_streaming: true,
  }
  assert.deepEqual(toolsOf({ tools: [tool] }), {
    tools: [lsFunction],
    degraded: ['tools.0.defer_loading=dropped', 'tools.0.input_examples=dropped'],
  })
})

test('a schema without properties gets an empty object of properties', () => {
  const { tools } = sent({ tools: [{ name: 'now', input_schema: { type: 'object' } }] }).body
  assert.deepEqual(tools, [
    { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
  ])
})

for (const type of [
  'web_search_20250305',
  'web_search_20260318',
  'web_fetch_20260318',
  'code_execution_20260521',
  'mcp_toolset',
  'computer_toolset_20260801',
]) {
  test(`M10: ${type} is rejected with its path`, () => {
    assert.throws(() => sent({ tools: [ls, { type, name: 'x' }] }), {
      code: 'invalid_request',
      message: `tools.1: a tool of type ${type} runs at Anthropic and is not supported by the provider of this model`,
    })
  })
}

test('an invalid tool is rejected with its field', () => {
  for (const [request, message] of [
    [{ tools: [5] }, 'tools.0 must be an object'],
    [{ tools: [{ input_schema: {} }] }, 'tools.0.name must be a string'],
    [{ tools: [ls], tool_choice: { type: 'some' } }, 'tool_choice.type must be auto, any, tool or none'],
  ] as const) {
    assert.throws(() => sent(request), { code: 'invalid_request', message })
  }
})
