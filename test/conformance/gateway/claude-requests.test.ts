import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPair } from './setup.ts'

const schema = { type: 'object', properties: { name: { type: 'string', maxLength: 3 } }, required: ['name'] }
const words = [{ role: 'user', content: 'hi' }]

/** How clients of each format ask for JSON of a schema. */
const clients = {
  chat: {
    path: '/v1/chat/completions',
    body: {
      messages: words,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
    },
  },
  responses: {
    path: '/v1/responses',
    body: { messages: undefined, input: 'hi', text: { format: { type: 'json_schema', name: 'answer', schema } } },
  },
  gemini: {
    path: '/v1beta/models/test-model:generateContent',
    body: {
      model: undefined,
      messages: undefined,
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema },
    },
  },
} as const

const upstreams = {
  'anthropic-messages': 'claude-opus-4-6',
  'bedrock-converse': 'anthropic.claude-opus-4-6-v1:0',
} as const

for (const [name, { path, body }] of Object.entries(clients)) {
  for (const protocol of ['anthropic-messages', 'bedrock-converse'] as const) {
    test(`F8, ${name} on ${protocol}: a schema loses what Claude rejects, gains closed objects, and both are reported`, async t => {
      const changes = { upstreamModel: upstreams[protocol] }
      const { post, sentText } = await startPair(t, protocol, { script: [{ text: '{"name":"a"}' }], changes })
      const response = await post({ max_tokens: undefined, ...body }, { path })
      assert.equal(response.status, 200, await response.text())
      const sent = sentText().replaceAll('\\"', '"')
      assert.match(sent, /"name":\{"type":"string","description":"\(maxLength: 3\)"\}/)
      assert.match(sent, /"additionalProperties":false/)
      const degraded = response.headers.get('x-switchyard-degraded') ?? ''
      assert.match(degraded, /schema\.properties\.name\.maxLength=described/)
      // Gemini's own schemas are closed as they are.
      if (name !== 'gemini') assert.match(degraded, /schema\.additionalProperties=closed/)
    })
  }
}

const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const marked = {
  messages: [
    { role: 'system', content: 'Be brief.', ...mark },
    { role: 'user', content: [{ type: 'text', text: 'look', ...mark }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'seen', ...mark },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } }, ...mark }],
}

test('F4, chat on anthropic-messages: marks on messages, parts, results and tools reach the upstream with their time', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const response = await post(marked, { path: '/v1/chat/completions' })
  assert.equal(response.status, 200, await response.text())
  const { system, messages, tools } = sent<{
    readonly system: readonly object[]
    readonly messages: readonly { readonly content: readonly object[] }[]
    readonly tools: readonly object[]
  }>()
  const last = [system.at(-1), messages[0]?.content.at(-1), messages[2]?.content.at(-1), tools.at(-1)]
  for (const one of last) assert.deepEqual({ ...one, ...mark }, one)
})

test('F4, chat on bedrock-converse: the same marks are cache points', async t => {
  const { post, sentText } = await startPair(t, 'bedrock-converse', { script: [{}] })
  const response = await post(marked, { path: '/v1/chat/completions' })
  assert.equal(response.status, 200, await response.text())
  assert.equal(sentText().split('"cachePoint"').length - 1, 4)
})

test('F4, chat on anthropic-messages: prompt_cache_key adds no mark to those of the client, of which four are accepted', async t => {
  const { post, sentText } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const marksOf = async (body: object) => {
    await post({ ...body, prompt_cache_key: 'k' }, { path: '/v1/chat/completions' })
    return sentText().split('"cache_control"').length - 1
  }
  assert.equal(await marksOf(marked), 4)
  assert.equal(await marksOf({ messages: words }), 1)
})

const chat = { path: '/v1/chat/completions' }

for (const user of ['ann@example.com', '+49 30 1234567', 'x'.repeat(257)]) {
  test(`M9, chat on anthropic-messages: the user ${user.slice(0, 20)}, which Claude rejects, is hashed and reported`, async t => {
    const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
    const response = await post({ user }, chat)
    assert.match(JSON.stringify(sent()['metadata']), /^\{"user_id":"[0-9a-f]{64}"\}$/)
    assert.match(response.headers.get('x-switchyard-degraded') ?? '', /^user=hashed$/)
    await post({ user: 'user-17' }, chat)
    assert.deepEqual(sent()['metadata'], { user_id: 'user-17' })
  })
}

for (const [upstreamModel, isContinued] of [
  ['claude-haiku-4-5', true],
  ['claude-sonnet-4-6', false],
] as const) {
  test(`F10, chat on anthropic-messages: the start of an answer ${isContinued ? 'ends' : 'does not end'} the conversation with ${upstreamModel}`, async t => {
    const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}], changes: { upstreamModel } })
    const response = await post({ messages: [...words, { role: 'assistant', content: 'The answer' }] }, chat)
    const { messages } = sent<{ messages: readonly { role: string }[] }>()
    assert.equal(messages.at(-1)?.role, isContinued ? 'assistant' : 'user')
    const degraded = response.headers.get('x-switchyard-degraded') ?? ''
    assert.equal(degraded, isContinued ? '' : 'messages.1=user_turn_added')
  })
}

const forced = { type: 'function', function: { name: 'f' } }

for (const [protocol, upstreamModel, takesForced] of [
  ['anthropic-messages', 'claude-opus-5', true],
  ['anthropic-messages', 'claude-fable-5-1', false],
  ['anthropic-messages', 'claude-opus-5-5', false],
  ['anthropic-messages', 'claude-haiku-5-5', true],
  ['bedrock-converse', 'anthropic.claude-opus-5-v1:0', true],
  ['bedrock-converse', 'anthropic.claude-fable-5-1-v1:0', false],
] as const) {
  test(`M7, chat on ${protocol}: a forced call is ${takesForced ? 'forced' : 'left'} to ${upstreamModel}`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { upstreamModel } })
    const { tools } = marked
    for (const tool_choice of ['required', 'any', forced]) {
      const response = await post({ messages: words, tools, tool_choice, reasoning_effort: 'low' }, chat)
      const degraded = response.headers.get('x-switchyard-degraded') ?? ''
      assert.equal(/"(tool_choice|toolChoice)":\{("type":)?"(any|tool)"/.test(sentText()), takesForced, sentText())
      assert.equal(degraded.includes('tool_choice=auto'), !takesForced, degraded)
      assert.equal(degraded.includes('reasoning_effort=thinking_off'), takesForced, degraded)
    }
  })
}

for (const [upstreamModel, settings, reported] of [
  ['claude-haiku-5-5', { thinking: { type: 'disabled' } }, ''],
  ['claude-sonnet-5-5', { thinking: { type: 'between_tools' } }, 'reasoning_effort=between_tools'],
  ['claude-opus-5-5', { output_config: { effort: 'low' } }, 'reasoning_effort=low_effort'],
] as const) {
  test(`K7, chat on anthropic-messages: without effort ${upstreamModel} thinks as little as it can`, async t => {
    const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}], changes: { upstreamModel } })
    const response = await post({ messages: words, reasoning_effort: 'none' }, chat)
    const { thinking, output_config } = sent()
    assert.deepEqual(
      { ...(thinking !== undefined && { thinking }), ...(output_config !== undefined && { output_config }) },
      settings,
    )
    assert.equal(response.headers.get('x-switchyard-degraded') ?? '', reported)
  })
}

const either = {
  type: 'object',
  properties: { id: { type: 'string' } },
  required: ['id'],
  anyOf: [{ required: ['route'], properties: { route: { type: 'string' } } }, { $ref: '#/$defs/File' }],
  allOf: [{ properties: { at: { type: 'integer' } }, required: ['at'] }],
  $defs: { File: { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] } },
}

for (const [protocol, provider] of [
  ['anthropic-messages', 'anthropic'],
  ['bedrock-converse', 'bedrock'],
  ['openai-responses', 'openai'],
] as const) {
  test(`M8, gemini on ${protocol}: alternatives at the top of a tool's schema become one object, and are reported`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { provider } })
    const tools = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: either }] }]
    const { path, body } = clients.gemini
    const response = await post({ ...body, max_tokens: undefined, tools, generationConfig: undefined }, { path })
    assert.equal(response.status, 200, await response.text())
    assert.doesNotMatch(sentText(), /"(anyOf|allOf)"/)
    for (const name of ['id', 'route', 'file', 'at']) assert.match(sentText(), new RegExp(`"${name}":\\{"type"`))
    assert.match(sentText(), /"required":\["id","at"\]/)
    const degraded = response.headers.get('x-switchyard-degraded') ?? ''
    assert.match(degraded, /tools\.0\.functionDeclarations\.0\.parameters=simplified/)
  })
}
