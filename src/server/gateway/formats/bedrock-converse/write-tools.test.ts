import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claude, gptOss, llama, newestClaude, nova, sent } from './fixtures.ts'

const schema = { type: 'object', properties: { q: { type: 'string' } } }
const tools = [{ name: 'look', description: 'Looks', input_schema: schema }]
const spec = { toolSpec: { name: 'look', description: 'Looks', inputSchema: { json: schema } } }
const history = [
  { role: 'user', content: 'x' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'r' }] },
]

const serial = { disable_parallel_tool_use: true }
const fields = (choice: object) => ({ tool_choice: choice })

/** Results for a choice: `toolChoice`, the additional fields, and the degradations. */
const choices = [
  ['auto', claude, { type: 'auto' }, undefined, undefined, []],
  ['any', claude, { type: 'any' }, { any: {} }, undefined, []],
  ['tool', nova, { type: 'tool', name: 'look' }, { tool: { name: 'look' } }, undefined, []],
  ['none', claude, { type: 'none' }, undefined, fields({ type: 'none' }), []],
  ['one call at a time', claude, { type: 'auto', ...serial }, undefined, fields({ type: 'auto', ...serial }), []],
  [
    'a forced call without parallel calls',
    claude,
    { type: 'tool', name: 'look', ...serial },
    undefined,
    fields({ type: 'tool', name: 'look', ...serial }),
    [],
  ],
  [
    'no parallel calls for other models',
    gptOss,
    { type: 'any', ...serial },
    { any: {} },
    undefined,
    ['tool_choice.disable_parallel_tool_use=dropped'],
  ],
  ['a forced call of a Llama', llama, { type: 'any' }, undefined, undefined, ['tool_choice=auto']],
] as const

for (const [name, model, choice, toolChoice, additional, degraded] of choices) {
  test(`M7: tool_choice: ${name}`, () => {
    const found = sent({ tools, tool_choice: choice }, model)
    assert.deepEqual(found.body['toolConfig'], { tools: [spec], ...(toolChoice && { toolChoice }) })
    assert.deepEqual(found.body['additionalModelRequestFields'], additional)
    assert.deepEqual(found.degraded, degraded)
  })
}

test('M7: the choice none removes the tools for models without it', () => {
  const request = { tools, tool_choice: { type: 'none' } }
  assert.equal(sent(request, nova).body['toolConfig'], undefined)
  assert.deepEqual(sent(request, nova).degraded, ['tool_choice=tools_dropped'])
  const { body } = sent({ ...request, messages: history }, nova)
  assert.ok(!JSON.stringify(body['toolConfig']).includes('look'))
})

test('a strict tool stays strict if Bedrock supports it', () => {
  const request = { tools: [{ ...tools[0], strict: true }] }
  assert.match(sent(request, claude).text, /"strict":true/)
  assert.doesNotMatch(sent(request, newestClaude).text, /strict/)
  assert.deepEqual(sent(request, newestClaude).degraded, ['tools.0.strict=dropped'])
})

test('a tool gets a schema with a type, and no blank description', () => {
  const given = [{ name: 'a' }, { name: 'b', description: ' ', input_schema: { properties: {} }, type: 'custom' }]
  assert.deepEqual((sent({ tools: given }).body['toolConfig'] as { tools: unknown }).tools, [
    { toolSpec: { name: 'a', inputSchema: { json: { type: 'object', properties: {} } } } },
    { toolSpec: { name: 'b', inputSchema: { json: { type: 'object', properties: {} } } } },
  ])
})

test('tool fields without an equivalent are recorded', () => {
  const given = [{ ...tools[0], defer_loading: true, input_examples: [{ q: 'x' }] }]
  assert.deepEqual(sent({ tools: given }).degraded, ['tools.0.defer_loading=dropped', 'tools.0.input_examples=dropped'])
})
