import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../../platform/errors.ts'
import { bedrockConverse } from './codec.ts'
import { claude, contextFor, gptOss, llama, newestClaude, nova, sent } from './fixtures.ts'

const thinker = 'anthropic.claude-3-7-sonnet-20250219-v1:0'
const selfPaced = 'us.anthropic.claude-opus-4-6-v1'
const beforeThinking = 'anthropic.claude-3-5-haiku-20241022-v1:0'
const ownProfile = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2'

test('the path contains the percent-encoded model, and differs for streams', () => {
  const request = { messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }
  const path = (id: string, stream: boolean) => bedrockConverse.request(request, contextFor(id, stream)).path
  assert.equal(path('amazon.nova-pro-v1:0', false), '/model/amazon.nova-pro-v1%3A0/converse')
  assert.equal(
    path(ownProfile, true),
    '/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/converse-stream',
  )
})

test('C4: equal requests give equal bytes', () => {
  const request = {
    system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
    tools: [{ name: `mcp__${'x'.repeat(70)}`, input_schema: { type: 'object' } }],
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', data: 'd' } }] }],
  }
  assert.equal(sent(request).text, sent(structuredClone(request)).text)
})

test('M6: system blocks keep their order, as string or array; blank ones are removed', () => {
  const blocks = ['a', ' ', 'b'].map(text => ({ type: 'text', text }))
  assert.deepEqual(sent({ system: 'a' }).body['system'], [{ text: 'a' }])
  assert.deepEqual(sent({ system: blocks }).body['system'], [{ text: 'a' }, { text: 'b' }])
  assert.equal(sent({ system: '' }).body['system'], undefined)
})

const sampling = { temperature: 0.2, top_p: 0.9, top_k: 5, stop_sequences: ['END'] }
const budget = { type: 'enabled', budget_tokens: 2000 }
const all = ['temperature=dropped', 'top_p=dropped', 'top_k=dropped']

/** Settings for a model: `inferenceConfig`, the additional fields, and the degradations. */
const settings = [
  [
    'Claude accepts all settings',
    claude,
    sampling,
    { temperature: 0.2, topP: 0.9, stopSequences: ['END'] },
    { top_k: 5 },
    [],
  ],
  ['the newest Claude samples as it likes', newestClaude, sampling, { stopSequences: ['END'] }, undefined, all],
  [
    'Nova rejects top_k',
    nova,
    sampling,
    { temperature: 0.2, topP: 0.9, stopSequences: ['END'] },
    undefined,
    ['top_k=dropped'],
  ],
  [
    'K7: thinking restricts sampling settings',
    claude,
    { ...sampling, thinking: budget },
    { stopSequences: ['END'] },
    { thinking: budget },
    all,
  ],
  [
    'K7: thinking accepts allowed sampling settings',
    claude,
    { temperature: 1, top_p: 0.97, thinking: budget },
    { temperature: 1, topP: 0.97 },
    { thinking: budget },
    [],
  ],
  ['nothing asked, nothing sent', claude, { stop_sequences: [] }, {}, undefined, []],
] as const

for (const [name, model, request, inference, fields, degraded] of settings) {
  test(`M9: ${name}`, () => {
    const found = sent({ max_tokens: 5000, ...request }, model)
    assert.deepEqual(found.body['inferenceConfig'], { maxTokens: 5000, ...inference })
    assert.deepEqual(found.body['additionalModelRequestFields'], fields)
    assert.deepEqual(found.degraded, degraded)
  })
}

const adaptive = { type: 'adaptive', display: 'summarized' }

const thinkings = [
  ['a budget stays where it is known', thinker, budget, { thinking: budget }, []],
  [
    'a budget becomes adaptive for models that reject budgets',
    newestClaude,
    budget,
    { thinking: { type: 'adaptive' } },
    ['thinking=adaptive'],
  ],
  ['adaptive stays where it is known', selfPaced, adaptive, { thinking: adaptive }, []],
  [
    'adaptive thinking becomes a budget for an older model',
    claude,
    adaptive,
    { thinking: { type: 'enabled', budget_tokens: 2500 } },
    ['thinking=budget_estimated'],
  ],
  ['a model without thinking gets none', beforeThinking, budget, undefined, ['thinking=dropped']],
  ['another provider gets none', nova, adaptive, undefined, ['thinking=dropped']],
  ['disabled says nothing to another provider', nova, { type: 'disabled' }, undefined, []],
  ['an unknown profile gets it as it is', ownProfile, adaptive, { thinking: adaptive }, []],
  ['a GPT gets an effort', gptOss, budget, { reasoning_effort: 'low' }, ['thinking=effort_low']],
] as const

for (const [name, model, thinking, fields, degraded] of thinkings) {
  test(`K7: ${name}`, () => {
    const found = sent({ max_tokens: 5000, thinking }, model)
    assert.deepEqual(found.body['additionalModelRequestFields'], fields)
    assert.deepEqual(found.degraded, degraded)
  })
}

test('K7: adaptive thinking is dropped if max_tokens is too small for a budget', () => {
  assert.deepEqual(sent({ max_tokens: 500, thinking: adaptive }).degraded, ['thinking=dropped'])
})

test('an effort is sent to models that support it', () => {
  const request = { output_config: { effort: 'max' } }
  assert.deepEqual(sent(request, selfPaced).body['additionalModelRequestFields'], { output_config: { effort: 'max' } })
  assert.deepEqual(sent(request, claude).degraded, ['output_config.effort=dropped'])
  assert.deepEqual(sent(request, gptOss).body['additionalModelRequestFields'], { reasoning_effort: 'high' })
  assert.deepEqual(sent(request, gptOss).degraded, ['output_config.effort=effort_high'])
})

test('an output schema is sent as a field, or as instructions if Bedrock rejects the field', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const request = { system: 'Be kind.', output_config: { format: { type: 'json_schema', schema } } }
  const jsonSchema = { schema: JSON.stringify(schema), name: 'answer' }
  const native = sent(request, claude)
  assert.deepEqual(native.body['outputConfig'], { textFormat: { type: 'json_schema', structure: { jsonSchema } } })
  assert.deepEqual(native.degraded, [])
  for (const model of [newestClaude, nova, beforeThinking]) {
    const { body, degraded } = sent(request, model)
    assert.equal(body['outputConfig'], undefined)
    assert.match(JSON.stringify(body['system']), /Be kind.*schema.*properties/)
    assert.deepEqual(degraded, ['output_config.format=as_instruction'])
  }
})

test('M9: valid metadata is sent; other metadata is dropped and recorded', () => {
  const request = { metadata: { user_id: 'user-1@x', session: '{"a":1}', empty: null } }
  const { body, degraded } = sent(request)
  assert.deepEqual(body['requestMetadata'], { user_id: 'user-1@x' })
  assert.deepEqual(degraded, ['metadata.session=dropped'])
})

test('M9: unknown fields are recorded; empty ones and the default service tier are not', () => {
  const request = { context_management: { edits: [1] }, container: 'c', betas: [], service_tier: 'auto', x: null }
  assert.deepEqual(sent(request).degraded, ['context_management=dropped', 'container=dropped'])
  assert.deepEqual(sent({ service_tier: 'priority' }).degraded, ['service_tier=dropped'])
})

test('S2: the matched stop sequence is requested from Claude if the request has stop sequences', () => {
  const paths = ['/stop_sequence', '/delta/stop_sequence']
  assert.deepEqual(sent({ stop_sequences: ['END'] }).body['additionalModelResponseFieldPaths'], paths)
  assert.equal(sent({}).body['additionalModelResponseFieldPaths'], undefined)
  assert.equal(sent({ stop_sequences: ['END'] }, llama).body['additionalModelResponseFieldPaths'], undefined)
})

const refusals = [
  ['messages.0.role', { messages: [{ role: 'tool', content: 'x' }] }],
  ['messages.1', { messages: [{ role: 'user', content: 'x' }, 5] }],
  ['messages.0.content', { messages: [{ role: 'user', content: 5 }] }],
  ['messages.0.content.1', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, 'y'] }] }],
  ['messages', { messages: [{ role: 'user', content: ' ' }] }],
  ['tools', { tools: {} }],
  [
    'tools.1',
    {
      tools: [
        { name: 'a', input_schema: {} },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    },
  ],
  ['mcp_servers', { mcp_servers: [{ url: 'https://x.test' }] }],
] as const

for (const [field, request] of refusals) {
  test(`M10: invalid content is rejected with its field: ${field} in ${JSON.stringify(request).slice(0, 60)}`, () => {
    assert.throws(
      () => sent(request),
      (error: unknown) =>
        error instanceof AppError && error.code === 'invalid_request' && error.message.startsWith(field),
    )
  })
}

test("C5: Bedrock's token counter gets system, tools, images and documents, and its answer is read", () => {
  const request = {
    system: 's',
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'cGRm' } },
        ],
      },
    ],
  }
  const counted = bedrockConverse.counting?.request(request, contextFor(newestClaude))
  assert.ok(counted)
  assert.equal(counted.path, '/model/global.anthropic.claude-opus-5-5/count-tokens')
  const { converse } = counted.body['input'] as { converse: Record<string, unknown> }
  assert.deepEqual(Object.keys(converse), ['messages', 'system', 'toolConfig'])
  assert.match(JSON.stringify(converse), /aW1n.*cGRm.*"text":"s".*toolSpec/)
  assert.equal(bedrockConverse.counting?.answer({ inputTokens: 42 }), 42)
  assert.equal(bedrockConverse.counting?.answer({ message: 'no' }), undefined)
})
