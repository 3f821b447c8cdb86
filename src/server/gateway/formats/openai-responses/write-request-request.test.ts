import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openaiResponses } from './codec.ts'
import { contextOf, sent } from './fixtures.ts'

test('a plain request is sent with store false and without degradations', () => {
  assert.deepEqual(sent({ system: 'Be terse.' }), {
    path: '/responses',
    text: JSON.stringify({
      model: 'gpt-5.5',
      instructions: 'Be terse.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      max_output_tokens: 100,
      store: false,
      include: ['reasoning.encrypted_content'],
      stream: true,
      stream_options: { include_obfuscation: false },
    }),
    body: sent({ system: 'Be terse.' }).body,
    degraded: [],
  })
})

test('a call without streaming does not request a stream', () => {
  const { body } = sent({}, { stream: false })
  assert.equal('stream' in body || 'stream_options' in body, false)
})

test('M6: several system entries are joined in order', () => {
  const system = ['one', 'two', 'three'].map(text => ({ type: 'text', text, cache_control: { type: 'ephemeral' } }))
  assert.equal(sent({ system }).body['instructions'], 'one\n\ntwo\n\nthree')
})

const thinkings = [
  ['gpt-5.5', { thinking: { type: 'enabled', budget_tokens: 2000 } }, 'low', 'thinking.budget_tokens=effort_low'],
  [
    'gpt-5.5',
    { thinking: { type: 'enabled', budget_tokens: 10_000 } },
    'medium',
    'thinking.budget_tokens=effort_medium',
  ],
  ['gpt-5.5', { thinking: { type: 'enabled', budget_tokens: 32_000 } }, 'high', 'thinking.budget_tokens=effort_high'],
  ['gpt-5.5', { thinking: { type: 'adaptive' } }, 'medium', undefined],
  ['gpt-5.5', { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }, 'xhigh', undefined],
  ['gpt-5.6-sol', { output_config: { effort: 'max' } }, 'max', undefined],
  ['gpt-5.5', { output_config: { effort: 'max' } }, 'xhigh', 'output_config.effort=effort_xhigh'],
  ['openai/o3', { output_config: { effort: 'max' } }, 'high', 'output_config.effort=effort_high'],
  ['gpt-5-pro', { output_config: { effort: 'low' } }, 'high', 'output_config.effort=effort_high'],
  ['gpt-5.1-codex-max', { output_config: { effort: 'xhigh' } }, 'xhigh', undefined],
  ['gpt-6-astra', { output_config: { effort: 'max' } }, 'max', undefined],
  ['gpt-5.5', { thinking: { type: 'disabled' } }, 'none', undefined],
  ['gpt-5', { thinking: { type: 'disabled' } }, 'low', 'thinking=effort_low'],
  ['gpt-5.5', { output_config: { effort: 'ultra' } }, 'medium', 'output_config.effort=dropped'],
] as const

for (const [upstreamModel, request, effort, listed] of thinkings) {
  test(`K7: ${upstreamModel} gets effort ${effort} for ${JSON.stringify(request)}`, () => {
    const { body, degraded } = sent(request, { upstreamModel })
    assert.deepEqual((body['reasoning'] as { effort: string }).effort, effort)
    assert.deepEqual(degraded, listed === undefined ? [] : [listed])
  })
}

test('K6: thinking requests a summary, unless the client omits it', () => {
  const summaryFor = (thinking: object) => (sent({ thinking }).body['reasoning'] as { summary?: string }).summary
  assert.equal(summaryFor({ type: 'adaptive' }), 'auto')
  assert.equal(summaryFor({ type: 'adaptive', display: 'omitted' }), undefined)
})

test('K7: thinking is dropped and recorded for a model without it, and sampling settings are kept', () => {
  for (const upstreamModel of ['gpt-4.1', 'gpt-5-chat-latest']) {
    const request = { thinking: { type: 'adaptive' }, output_config: { effort: 'low' }, temperature: 0.5, top_p: 0.9 }
    const { body, degraded } = sent(request, { upstreamModel })
    assert.deepEqual(
      [body['temperature'], body['top_p'], body['reasoning'], body['include']],
      [0.5, 0.9, undefined, undefined],
    )
    assert.deepEqual(degraded, ['thinking=dropped', 'output_config.effort=dropped'])
  }
})

test('K7: temperature and top_p are dropped and recorded for models that reason', () => {
  for (const upstreamModel of ['o3', 'gpt-5-mini', 'gpt-5.3-codex', 'gpt-6-astra']) {
    const { body, degraded } = sent({ temperature: 1, top_p: 0.5 }, { upstreamModel })
    assert.equal('temperature' in body || 'top_p' in body, false)
    assert.deepEqual(degraded, ['temperature=dropped', 'top_p=dropped'])
  }
})

test('M9: unsupported and unknown fields are recorded', () => {
  const request = { stop_sequences: ['END'], top_k: 5, context_management: { edits: [] }, speed: 'fast', novel: 1 }
  assert.deepEqual(sent(request).degraded, [
    'stop_sequences=dropped',
    'top_k=dropped',
    'context_management=dropped',
    'speed=dropped',
    'novel=dropped',
  ])
  assert.deepEqual(sent({ stop_sequences: [], top_k: null }).degraded, [])
})

test('M9: a limit below the minimum of the API is raised and recorded', () => {
  const { body, degraded } = sent({ max_tokens: 1 })
  assert.equal(body['max_output_tokens'], 16)
  assert.deepEqual(degraded, ['max_tokens=raised'])
})

test('M9: the user id is sent, a long one hashed', () => {
  const short = sent({ metadata: { user_id: 'user-1' } })
  assert.deepEqual([short.body['safety_identifier'], short.body['prompt_cache_key']], ['user-1', 'user-1'])
  assert.deepEqual(short.degraded, [])
  const long = sent({ metadata: { user_id: 'x'.repeat(65), team: 'a' } })
  assert.match(String(long.body['safety_identifier']), /^[0-9a-f]{64}$/)
  assert.deepEqual(long.degraded, ['metadata.team=dropped'])
})

test('a service tier is converted or recorded', () => {
  assert.equal(sent({ service_tier: 'standard_only' }).body['service_tier'], 'default')
  assert.deepEqual(sent({ service_tier: 'gold' }).degraded, ['service_tier=dropped'])
  assert.deepEqual(sent({ service_tier: 'auto' }).degraded, [])
})

test('C3: no cache_control, thinking or context_management reaches the upstream', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' }
  const { text } = sent({
    cache_control,
    system: [{ type: 'text', text: 'a', cache_control }],
    thinking: { type: 'adaptive' },
    context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
    tools: [{ name: 't', input_schema: { type: 'object', properties: {} }, cache_control }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'q', cache_control }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'foreign' },
          { type: 'tool_use', id: 'c1', name: 't', input: {}, cache_control },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r', cache_control }] },
    ],
  })
  assert.doesNotMatch(text, /cache_control|thinking|context_management|foreign/)
})

test('C3: a tool property named cache_control is kept', () => {
  const properties = { cache_control: { type: 'string' }, thinking: { type: 'string' } }
  const { body } = sent({ tools: [{ name: 't', input_schema: { type: 'object', properties } }] })
  assert.deepEqual((body['tools'] as { parameters: object }[])[0]?.parameters, { type: 'object', properties })
})

test('C4: equal requests give equal bytes', () => {
  const request = () => ({
    system: [{ type: 'text', text: 'a' }],
    metadata: { user_id: 'x'.repeat(100) },
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'odd id!', name: 't', input: { b: 1, a: 2 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'odd id!' }] },
    ],
  })
  assert.equal(sent(request()).text, sent(structuredClone(request())).text)
})

const closed = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

test('structured output becomes text.format, strict where the schema allows it', () => {
  const format = { type: 'json_schema', schema: closed }
  const expected = { format: { type: 'json_schema', name: 'answer', schema: closed, strict: true } }
  assert.deepEqual(sent({ output_config: { format } }).body['text'], expected)
  assert.deepEqual(sent({ output_format: format }).body['text'], expected)
  const open = sent({ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } })
  assert.equal((open.body['text'] as typeof expected).format.strict, false)
  assert.deepEqual(open.degraded, ['output_config.format=not_strict'])
})

const refused = [
  [
    'an unknown format',
    { output_config: { format: { type: 'regex' } } },
    /^output_config\.format must have type json_schema/,
  ],
  ['a remote MCP server', { mcp_servers: [{ name: 'a', url: 'https://a.test' }] }, /^mcp_servers: /],
  ['a system block that is not text', { system: [{ type: 'image' }] }, /^system\.0: /],
] as const

for (const [name, request, message] of refused) {
  test(`M10: ${name} is rejected with its field`, () => {
    assert.throws(() => sent(request), { code: 'invalid_request', message })
  })
}

test('C5: the token counter gets the same input as the call', () => {
  const request = {
    system: 's',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }],
    thinking: { type: 'adaptive' },
  }
  const counted = openaiResponses.counting?.request(request, contextOf())
  const { instructions, input, tools, reasoning } = sent(request).body
  assert.equal(counted?.path, '/responses/input_tokens')
  assert.deepEqual(counted?.body, { model: 'gpt-5.5', instructions, input, tools, reasoning })
  assert.equal(openaiResponses.counting?.answer({ object: 'response.input_tokens', input_tokens: 11 }), 11)
  assert.equal(openaiResponses.counting?.answer({ error: {} }), undefined)
})
