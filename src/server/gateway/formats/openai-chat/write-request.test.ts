import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../../platform/json.ts'
import type { CodecContext } from '../../core/codec.ts'
import { deploymentOf, openAi, sent } from './fixtures.ts'

const messages = [{ role: 'user', content: 'hi' }]
const base = { model: 'some-model', messages, max_tokens: 100 }
const streamed = { stream: true, stream_options: { include_usage: true } }
const router: Partial<CodecContext> = { deployment: deploymentOf('openrouter'), upstreamModel: 'vendor/some-model' }
const tools = [{ name: 'ls', input_schema: { type: 'object', properties: {} } }]
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const open = { type: 'object', properties: { a: { type: 'string' } } }
const format = (wanted: Json, strict?: true) => ({
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'output', schema: wanted, ...(strict && { strict }) },
  },
})

/** Returns the fields that a request adds to the minimal body, and the degradations. */
function added(request: Json, changes: Partial<CodecContext> = {}) {
  const { body, degraded } = sent(request, { stream: false, ...changes })
  const { model, messages: _, max_tokens, max_completion_tokens, tools: __, ...rest } = body
  return { rest, degraded }
}

test('U6: a streamed request asks for usage', () => {
  const { path, body } = sent({})
  assert.equal(path, '/chat/completions')
  assert.deepEqual(body, { ...base, ...streamed })
  assert.deepEqual(sent({ stream: true }, { stream: false }).body, base)
})

test('the output limit is in the field that the upstream supports', () => {
  assert.equal(sent({}, openAi('gpt-4.1')).body['max_completion_tokens'], 100)
  assert.equal(sent({}, { deployment: deploymentOf('azure') }).body['max_completion_tokens'], 100)
  assert.equal(sent({}, openAi('gpt-4.1')).body['max_tokens'], undefined)
})

const table: readonly (readonly [string, Json, Partial<CodecContext>, Json, readonly string[]])[] = [
  [
    'M9: temperature, top_p and stop_sequences are sent',
    { temperature: 0.5, top_p: 0.9, stop_sequences: ['a', 'b'] },
    {},
    { temperature: 0.5, top_p: 0.9, stop: ['a', 'b'] },
    [],
  ],
  [
    'M9: top_k and stop sequences after the fourth are dropped and recorded',
    { top_k: 5, stop_sequences: ['a', 'b', 'c', 'd', 'e', 'f'] },
    {},
    { stop: ['a', 'b', 'c', 'd'] },
    ['top_k=dropped', 'stop_sequences.4=dropped', 'stop_sequences.5=dropped'],
  ],
  ['M9: metadata.user_id is the user, where that is known', { metadata: { user_id: 'u' } }, router, { user: 'u' }, []],
  [
    'M9: a long metadata.user_id is hashed',
    { metadata: { user_id: 'u'.repeat(100) } },
    openAi('gpt-4.1'),
    { user: 'aae37f9f7de396414419d9ed8d2321d450519b2d16797aab63c6ea51229c05a2' },
    ['metadata.user_id=hashed'],
  ],
  ['M9: metadata.user_id is listed elsewhere', { metadata: { user_id: 'u' } }, {}, {}, ['metadata.user_id=dropped']],
  [
    'unknown fields are dropped and recorded, except null',
    { context_management: {}, service_tier: 'auto', container: null, cache_control: { type: 'ephemeral' } },
    {},
    {},
    ['context_management=dropped', 'service_tier=dropped', 'cache_control=dropped'],
  ],
  ['K7: thinking for a model without it is dropped', { thinking: { type: 'adaptive' } }, {}, {}, ['thinking=dropped']],
  [
    'K7: effort is dropped for a model without it',
    { output_config: { effort: 'high' } },
    openAi('gpt-4.1'),
    {},
    ['output_config.effort=dropped'],
  ],
  ['K7: disabled thinking is not recorded', { thinking: { type: 'disabled' } }, {}, {}, []],
  [
    'K7: adaptive thinking becomes an effort',
    { thinking: { type: 'adaptive' } },
    openAi('gpt-5.2'),
    { reasoning_effort: 'medium' },
    [],
  ],
  [
    'K7: a thinking budget becomes an effort',
    { thinking: { type: 'enabled', budget_tokens: 20_000 } },
    openAi('o4-mini'),
    { reasoning_effort: 'high' },
    ['thinking.budget_tokens=approximated'],
  ],
  [
    'K7: a supported effort is sent',
    { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    openAi('gpt-5.5'),
    { reasoning_effort: 'xhigh' },
    [],
  ],
  [
    'K7: an effort above the model’s becomes its highest',
    { output_config: { effort: 'max' } },
    openAi('gpt-5-mini'),
    { reasoning_effort: 'high' },
    ['output_config.effort=approximated'],
  ],
  [
    'K7: disabled thinking becomes the lowest effort',
    { thinking: { type: 'disabled' } },
    openAi('gpt-5'),
    { reasoning_effort: 'minimal' },
    ['thinking=approximated'],
  ],
  [
    'K7: a router accepts all efforts for all models',
    { output_config: { effort: 'max' }, temperature: 0.2 },
    router,
    { temperature: 0.2, reasoning_effort: 'max' },
    [],
  ],
  [
    'K7: a reasoning model gets no temperature, top_p or stop',
    { temperature: 0.2, top_p: 0.9, stop_sequences: ['a'] },
    openAi('gpt-5.2'),
    {},
    ['temperature=dropped', 'top_p=dropped', 'stop_sequences=dropped'],
  ],
  ['K7: a temperature of 1 is what it uses anyway', { temperature: 1 }, openAi('o3'), {}, []],
  [
    'K7: without reasoning the temperature is sent',
    { temperature: 0.2, thinking: { type: 'disabled' } },
    openAi('gpt-5.2'),
    { temperature: 0.2, reasoning_effort: 'none' },
    [],
  ],
  [
    'K7: tools turn reasoning off if OpenAI rejects both',
    { tools, output_config: { effort: 'high' } },
    openAi('gpt-5.5'),
    { reasoning_effort: 'none' },
    ['output_config.effort=dropped'],
  ],
  ['K7: and also when nobody asked for it', { tools }, openAi('gpt-5.5'), { reasoning_effort: 'none' }, []],
  [
    'K7: other servers accept both',
    { tools, output_config: { effort: 'high' } },
    { ...router, upstreamModel: 'openai/gpt-5.5' },
    { reasoning_effort: 'high' },
    [],
  ],
  ['K7: chat models do not reason', { temperature: 0.2 }, openAi('gpt-5.2-chat-latest'), { temperature: 0.2 }, []],
  [
    'K7: Azure’s oldest model name is not a reasoning model',
    { temperature: 0.2 },
    openAi('gpt-35-turbo'),
    { temperature: 0.2 },
    [],
  ],
  ['structured output', { output_config: { format: { type: 'json_schema', schema } } }, {}, format(schema, true), []],
  [
    'structured output in the older field',
    { output_format: { type: 'json_schema', schema } },
    {},
    format(schema, true),
    [],
  ],
  [
    'structured output with a schema that strict mode rejects',
    { output_config: { format: { type: 'json_schema', schema: open } } },
    {},
    format(open),
    ['output_config.format=not_strict'],
  ],
  [
    'other fields of output_config are recorded',
    { output_config: { task_budget: { total: 5 } } },
    {},
    {},
    ['output_config.task_budget=dropped'],
  ],
]

for (const [guarantee, request, changes, rest, degraded] of table) {
  test(guarantee, () => assert.deepEqual(added(request, changes), { rest, degraded }))
}

test('C3: no cache_control, thinking or context_management reaches the upstream', () => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const inner = { type: 'text', text: 'x', ...mark }
  const { text, degraded } = sent({
    ...mark,
    system: [inner],
    thinking: { type: 'enabled', budget_tokens: 2000 },
    context_management: { edits: [] },
    tools: [{ ...tools[0], ...mark }],
    messages: [
      { role: 'user', content: [inner] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'ls', input: {}, ...mark }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [inner], ...mark }] },
    ],
  })
  assert.doesNotMatch(text, /cache_control|thinking|context_management/)
  assert.equal(degraded.filter(pair => pair.endsWith('cache_control=dropped')).length, 7)
})

test('C2: fields named like cache marks in tool inputs and schemas are kept', () => {
  const odd = { cache_control: { ttl: '1h' }, thinking: 1 }
  const { text } = sent({
    tools: [{ name: 'ls', input_schema: { type: 'object', properties: odd } }],
    messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'ls', input: odd }] }],
  })
  assert.ok(text.includes(JSON.stringify(odd)))
  assert.ok(text.includes(JSON.stringify(JSON.stringify(odd))))
})

test('C4: equal requests give equal bytes', () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string() }),
    fc.record({ type: fc.constant('tool_use'), id: fc.string(), name: fc.string(), input: fc.jsonValue() }),
    fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.string(), content: fc.string() }),
  )
  const message = fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.array(block) })
  fc.assert(
    fc.property(fc.array(message), said => {
      assert.equal(sent({ messages: said }).text, sent({ messages: JSON.parse(JSON.stringify(said)) }).text)
    }),
  )
})

test('M10: MCP servers are rejected', () => {
  assert.throws(() => sent({ mcp_servers: [{ type: 'url', url: 'https://x.test' }] }), {
    code: 'invalid_request',
    message: /^mcp_servers: /,
  })
})
