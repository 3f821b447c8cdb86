import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../../test/support/gateway/gateway-app.ts'
import { AppError } from '../../../platform/errors.ts'
import { degradedHeader } from '../../core/degradations.ts'
import { chatClient } from './read-request.ts'

const deployment = deploymentAt('http://127.0.0.1:1')
const hi = { role: 'user', content: 'hi' }
const convert = (request: object, upstreamModel = 'claude-sonnet-4-6') => {
  const context = {
    target: targetAt(deployment, upstreamModel),
    stream: false,
    model: 'm',
    requestId: 'req_1',
    createdAt: 1,
  }
  const { body, degraded } = chatClient({ model: 'm', messages: [hi], ...request }, context)
  // A JSON copy has no recorded paths of parts.
  return { body: JSON.parse(JSON.stringify(body)) as typeof body, degraded: degradedHeader(degraded) }
}

const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const f = { type: 'function', function: { name: 'f', description: 'd', parameters: schema } }
const g = { type: 'function', function: { name: 'g', strict: true } }
const canonicalF = { name: 'f', description: 'd', input_schema: schema }
const canonicalG = { name: 'g', input_schema: { type: 'object', properties: {} } }
const format = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } }

const settings: readonly (readonly [string, object, object, (string | undefined)?, string?])[] = [
  ['no limit given sets none', {}, {}],
  ['max_completion_tokens wins over max_tokens', { max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
  ['sampling settings stay as they are', { temperature: 1.5, top_p: 0.5 }, { temperature: 1.5, top_p: 0.5 }],
  [
    'models that reject sampling settings get none',
    { temperature: 0, top_p: 1 },
    {},
    'temperature=dropped, top_p=dropped',
    'claude-opus-5-5',
  ],
  [
    'M9: stop becomes stop_sequences without blank ones',
    { stop: ['END', '\n'] },
    { stop_sequences: ['END'] },
    'stop=blank_dropped',
  ],
  ['user becomes metadata', { user: 'u1' }, { metadata: { user_id: 'u1' } }],
  [
    'K7: effort becomes adaptive thinking',
    { reasoning_effort: 'xhigh' },
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'xhigh' } },
    undefined,
    'claude-opus-5-5',
  ],
  [
    'K7: effort becomes the nearest one of the model',
    { reasoning_effort: 'minimal' },
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
    'reasoning_effort=low',
  ],
  [
    'K7: older models get a budget without temperature',
    { reasoning_effort: 'low', temperature: 0.2, max_tokens: 8_000 },
    { max_tokens: 8_000, thinking: { type: 'enabled', budget_tokens: 2_048 } },
    'reasoning_effort=thinking_budget, temperature=dropped',
    'claude-haiku-4-5',
  ],
  [
    'K7: a budget is left out if max_tokens is too small',
    { reasoning_effort: 'high', max_tokens: 500 },
    { max_tokens: 500 },
    'reasoning_effort=thinking_off',
    'claude-sonnet-4-20250514',
  ],
  [
    'K7: models that cannot think get no thinking, and keep the temperature',
    { reasoning_effort: 'high', temperature: 0.2 },
    { temperature: 0.2 },
    'reasoning_effort=dropped',
    'claude-3-5-haiku-20241022',
  ],
  [
    'K7: effort none turns off thinking that is on by default',
    { reasoning_effort: 'none' },
    { thinking: { type: 'disabled' } },
    undefined,
    'claude-sonnet-5',
  ],
  [
    'K7: a forced call turns thinking off',
    { reasoning_effort: 'low', tools: [f], tool_choice: 'required' },
    { tools: [canonicalF], tool_choice: { type: 'any' } },
    'reasoning_effort=thinking_off',
  ],
  [
    'a JSON schema becomes the output format',
    { response_format: format },
    { output_config: { format: { type: 'json_schema', schema } } },
  ],
  [
    'tools keep names, descriptions and schemas',
    { tools: [f, g] },
    { tools: [canonicalF, canonicalG] },
    'tools.1.function.strict=dropped',
  ],
  [
    'the schema of a tool without parameters is an empty object',
    {
      tools: [{ type: 'function', function: { name: 'g', parameters: { type: 'object', properties: null } } }],
    },
    { tools: [canonicalG] },
  ],
  [
    'M7: a named function',
    { tools: [f], tool_choice: { type: 'function', function: { name: 'f' } } },
    { tools: [canonicalF], tool_choice: { type: 'tool', name: 'f' } },
  ],
  [
    'M7: none, and no parallel calls',
    { tools: [f], parallel_tool_calls: false },
    { tools: [canonicalF], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  ],
  ['M7: a choice without tools is no choice', { tool_choice: 'auto' }, {}],
  [
    'only allowed tools are sent',
    {
      tools: [f, g],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    },
    { tools: [canonicalF], tool_choice: { type: 'any' } },
  ],
  [
    'the older form of tools, without parallel calls',
    { functions: [f.function], function_call: { name: 'f' } },
    { tools: [canonicalF], tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } },
  ],
  ['prompt_cache_key enables prompt caching', { prompt_cache_key: 'k' }, { cache_control: { type: 'ephemeral' } }],
  [
    'fields without effect are not recorded',
    { n: 1, logprobs: false, seed: null, store: false, presence_penalty: 0 },
    {},
  ],
  [
    'M9: fields without an equivalent are recorded',
    { seed: 7, logit_bias: { 1: 2 }, logprobs: true, service_tier: 'flex', x: 1 },
    {},
    'seed=dropped, logit_bias=dropped, logprobs=dropped, service_tier=dropped, x=dropped',
  ],
]

for (const [guarantee, request, expected, listed, upstreamModel] of settings) {
  test(guarantee, () => {
    const { body, degraded } = convert(request, upstreamModel)
    assert.deepEqual(body, { model: 'm', stream: false, messages: [user], ...expected })
    assert.equal(degraded, listed)
  })
}

test('the response format json_object becomes an instruction', () => {
  const { body, degraded } = convert({ response_format: { type: 'json_object' } })
  assert.match(JSON.stringify(body['system']), /one JSON object/)
  assert.equal(degraded, 'response_format=told_in_system')
})

const refused: readonly (readonly [object, RegExp])[] = [
  [{ n: 3 }, /^n must be 1/],
  [{ modalities: ['text', 'audio'] }, /^modalities/],
  [{ messages: ['hi'] }, /^messages\.0 must be an object/],
  [{ messages: [{ role: 'robot', content: 'x' }] }, /^messages\.0\.role/],
  [
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
    /^messages\.0\.content\.0\.type input_audio/,
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] },
    /^messages\.0\.content\.0\.image_url/,
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    /^messages\.0\.content\.0\.file\.file_id/,
  ],
  [{ messages: [{ role: 'tool', content: 'x' }] }, /^messages\.0\.tool_call_id/],
  [{ messages: [{ role: 'user', content: ' ' }] }, /^request contains no messages$/],
  [{ tools: [{ type: 'function', function: {} }] }, /^tools\.0\.function\.name/],
  [{ tools: [{ type: 'x' }] }, /^tools\.0\.type x/],
  [{ stop: 5 }, /^stop must be/],
  [{ temperature: 'hot' }, /^temperature must be a number/],
  [{ reasoning_effort: 'huge' }, /^reasoning effort huge/],
]

for (const [request, message] of refused) {
  test(`a request is rejected with its field: ${message.source}`, () => {
    assert.throws(
      () => convert(request),
      error => error instanceof AppError && error.code === 'invalid_request' && message.test(error.message),
    )
  })
}

test('C4: equal requests give equal bytes', () => {
  const request = {
    temperature: 0.5,
    tools: [f, g],
    messages: [
      hi,
      { role: 'assistant', tool_calls: [{ id: 'a:b', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    ],
  }
  assert.equal(JSON.stringify(convert(request).body), JSON.stringify(convert(structuredClone(request)).body))
})

test('S50: a message may have any number of parts', () => {
  const content = Array.from({ length: 300_000 }, () => ({ type: 'text', text: 'a' }))
  const { body } = convert({ messages: ['system', 'user', 'user'].map(role => ({ role, content })) })
  assert.equal(JSON.stringify(body).split('"text":"a"').length - 1, 900_000)
})
