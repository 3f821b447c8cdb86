import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../../platform/errors.ts'
import type { CanonicalRequest, CodecContext } from '../../core/codec.ts'
import { gemini } from './codec.ts'
import { geminiContext, vertexDeployment } from './fixtures.ts'

const hello = [{ role: 'user', content: 'Hello' }]
const convert = (request: CanonicalRequest, overrides: Partial<CodecContext> = {}) => {
  const { path, body, degraded } = gemini.request({ messages: hello, ...request }, geminiContext(overrides))
  return { path, body, lost: degraded.map(each => `${each.path}=${each.action}`) }
}
const refusal = (request: CanonicalRequest, overrides: Partial<CodecContext> = {}) => {
  try {
    convert(request, overrides)
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid_request')
    return error.message
  }
  return undefined
}
const older = { upstreamModel: 'gemini-2.5-flash' }
const bash = {
  name: 'bash',
  description: 'Runs',
  input_schema: { type: 'object', properties: { a: { type: 'string' } } },
}
const search = { type: 'web_search_20250305', name: 'web_search' }

const paths = [
  ['the Gemini API', {}, '/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse'],
  ['a whole answer', { stream: false }, '/v1beta/models/gemini-3.1-pro-preview:generateContent'],
  ['a tuned model', { upstreamModel: 'tunedModels/mine', stream: false }, '/v1beta/tunedModels/mine:generateContent'],
  ['a strange name', { upstreamModel: 'a b?c', stream: false }, '/v1beta/models/a%20b%3Fc:generateContent'],
  [
    'Vertex',
    { deployment: vertexDeployment, stream: false },
    '/v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.1-pro-preview:generateContent',
  ],
  [
    'a base URL with a version',
    { deployment: { ...vertexDeployment, apiBase: 'https://vertex.test/v1beta1/' }, stream: false },
    '/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.1-pro-preview:generateContent',
  ],
] as const

for (const [name, overrides, path] of paths) {
  test(`a call uses the correct path for ${name}`, () => assert.equal(convert({}, overrides).path, path))
}

test('M6: system texts keep their order as separate parts', () => {
  const system = [
    { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'B' },
  ]
  const { body, lost } = convert({ system })
  assert.deepEqual(body['systemInstruction'], { parts: [{ text: 'A' }, { text: 'B' }] })
  assert.deepEqual(lost, ['cache_control=dropped'])
  assert.deepEqual(convert({ system: 'A' }).body['systemInstruction'], { parts: [{ text: 'A' }] })
  assert.equal('systemInstruction' in convert({ system: '' }).body, false)
})

test('C3: no cache mark reaches the upstream, and one degradation records all of them', () => {
  const cache_control = { type: 'ephemeral' }
  const { body, lost } = convert({
    cache_control,
    tools: [{ ...bash, cache_control }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] }],
  })
  assert.ok(!JSON.stringify(body).includes('cache_control'))
  assert.deepEqual(lost, ['cache_control=dropped'])
})

test('M9: sampling fields are converted; fields without an equivalent are recorded', () => {
  const { body, lost } = convert({
    max_tokens: 200_000,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop_sequences: ['1', '2', '3', '4', '5', '6'],
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    novel_field: 1,
  })
  assert.deepEqual(body['generationConfig'], {
    maxOutputTokens: 65_536,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    stopSequences: ['1', '2', '3', '4', '5'],
  })
  assert.deepEqual(lost, [
    'metadata=dropped',
    'service_tier=dropped',
    'novel_field=dropped',
    'max_tokens=lowered',
    'stop_sequences=cut',
  ])
})

test('tools become declarations, without parameters if they have none', () => {
  const { body } = convert({ tools: [bash, { type: 'custom', name: 'now', input_schema: { type: 'object' } }] })
  assert.deepEqual(body['tools'], [
    {
      functionDeclarations: [
        {
          name: 'bash',
          description: 'Runs',
          parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
        },
        { name: 'now' },
      ],
    },
  ])
})

const choices = [
  [{ type: 'auto' }, { mode: 'AUTO' }],
  [{ type: 'any' }, { mode: 'ANY' }],
  [{ type: 'none' }, { mode: 'NONE' }],
  [
    { type: 'tool', name: 'bash' },
    { mode: 'ANY', allowedFunctionNames: ['bash'] },
  ],
] as const

for (const [tool_choice, functionCallingConfig] of choices) {
  test(`M7: tool_choice ${tool_choice.type} is ${functionCallingConfig.mode}`, () => {
    assert.deepEqual(convert({ tools: [bash], tool_choice }).body['toolConfig'], { functionCallingConfig })
  })
}

test('M7: disable_parallel_tool_use is recorded as dropped', () => {
  const tool_choice = { type: 'auto', disable_parallel_tool_use: true }
  assert.deepEqual(convert({ tools: [bash], tool_choice }).lost, ['tool_choice.disable_parallel_tool_use=dropped'])
})

test('M7: a forced web search is dropped', () => {
  const { body, lost } = convert({ tools: [search], tool_choice: { type: 'tool', name: 'web_search' } })
  assert.equal('toolConfig' in body, false)
  assert.deepEqual(lost, ['tool_choice=dropped'])
})

test('M7: the choice none also removes web search', () => {
  const { body } = convert({ tools: [bash, search], tool_choice: { type: 'none' } })
  assert.ok(!JSON.stringify(body).includes('googleSearch'))
  assert.deepEqual(body['toolConfig'], { functionCallingConfig: { mode: 'NONE' } })
})

test('M10: web search becomes googleSearch, alone and with functions', () => {
  assert.deepEqual(convert({ tools: [{ ...search, max_uses: 5 }] }, older).body['tools'], [{ googleSearch: {} }])
  const { body } = convert({ tools: [bash, search] })
  assert.deepEqual(body['toolConfig'], {
    functionCallingConfig: { mode: 'VALIDATED' },
    includeServerSideToolInvocations: true,
  })
  const onVertex = convert({ tools: [bash, search] }, { deployment: vertexDeployment })
  assert.deepEqual(onVertex.body['toolConfig'], { functionCallingConfig: { mode: 'VALIDATED' } })
})

test('M10: an unsupported tool is rejected with its path', () => {
  assert.match(
    refusal({ tools: [bash, { type: 'code_execution_20250825', name: 'x' }] }) ?? '',
    /^tools\.1: .*code_exec/,
  )
  assert.match(refusal({ tools: [bash, search] }, older) ?? '', /^tools\.1: /)
})

test('an output schema is sent, or rejected for models that do not support it with tools', () => {
  const format = { type: 'json_schema', schema: { type: 'object', properties: { a: { type: 'string' } } } }
  const expected = {
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
  }
  assert.deepEqual(convert({ output_config: { format } }).body['generationConfig'], expected)
  assert.deepEqual(convert({ output_format: format }).body['generationConfig'], expected)
  assert.match(refusal({ output_config: { format }, tools: [bash] }, older) ?? '', /^output_config\.format/)
})

test('C5: token counting includes system and tools, in the format of each API', () => {
  const request = { system: 'S', messages: hello, tools: [bash], max_tokens: 5 }
  const here = gemini.counting?.request(request, geminiContext())
  assert.equal(here?.path, '/v1beta/models/gemini-3.1-pro-preview:countTokens')
  const whole = here?.body['generateContentRequest'] as Record<string, unknown>
  assert.deepEqual(Object.keys(whole), ['model', 'contents', 'systemInstruction', 'tools'])
  assert.equal(whole['model'], 'models/gemini-3.1-pro-preview')
  const there = gemini.counting?.request(request, geminiContext({ deployment: vertexDeployment }))
  assert.deepEqual(Object.keys(there?.body ?? {}), ['contents', 'systemInstruction', 'tools'])
  assert.equal(gemini.counting?.answer({ totalTokens: 12 }), 12)
  assert.equal(gemini.counting?.answer({}), undefined)
})

const malformed = [
  [{ messages: [5] }, /^messages\.0 /],
  [{ messages: [{ role: 'user' }] }, /^messages\.0\.content /],
  [{ messages: [{ role: 'user', content: [5] }] }, /^messages\.0\.content\.0 /],
  [{ messages: [{ role: 'user', content: '' }] }, /^messages /],
  [
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
    /0\.source: image/,
  ],
  [{ tools: [{ input_schema: {} }] }, /^tools\.0\.name /],
  [{ tools: [bash], tool_choice: { type: 'maybe' } }, /^tool_choice\.type /],
] as const

for (const [request, message] of malformed) {
  test(`a request with ${JSON.stringify(request)} is rejected with its field`, () => {
    assert.match(refusal(request) ?? '', message)
  })
}

test('C4: equal requests give equal bytes and are not modified', () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string() }),
    fc.record({
      type: fc.constant('tool_use'),
      id: fc.string(),
      name: fc.string(),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
    fc.record({ type: fc.constant('tool_result'), tool_use_id: fc.string(), content: fc.string() }),
  )
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 'system'),
    content: fc.oneof(fc.string(), fc.array(block, { maxLength: 4 })),
  })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), messages => {
      const request = { messages: [...hello, ...messages], system: 'S', tools: [bash], max_tokens: 9 }
      const before = JSON.stringify(request)
      const bytes = () => JSON.stringify(gemini.request(request, geminiContext()).body)
      assert.equal(bytes(), bytes())
      assert.equal(JSON.stringify(request), before)
    }),
    { numRuns: 200 },
  )
})
