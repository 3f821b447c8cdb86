import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { imageBlock, pdfBlock, startPair, tool, translated } from './setup.ts'

const mark = { cache_control: { type: 'ephemeral' } }

/** A request that marks everything that can be marked. */
const marked = {
  ...mark,
  system: [{ type: 'text', text: 'be brief', ...mark }],
  tools: [{ ...tool, ...mark }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look', ...mark },
        { ...imageBlock, ...mark },
        { ...pdfBlock, ...mark },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { cache_control: 'mine' }, ...mark }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sea', ...mark }] },
  ],
}

test('C1: marks on system, tools, text, image, document, tool use, result and request become cache points', async t => {
  const { request: ask, sent } = await startPair(t, 'bedrock-converse', { script: [{}] })
  await ask(marked)
  const body = sent<{
    system: object[]
    messages: { content: object[] }[]
    toolConfig: { tools: object[] }
  }>()
  const points = (list: readonly object[]) => list.filter(block => 'cachePoint' in block).length
  const all = [body.system, body.toolConfig.tools, ...body.messages.map(({ content }) => content)]
  const count = all.reduce((sum, list) => sum + points(list), 0)
  // Bedrock takes four at most.
  assert.ok(count >= 1 && count <= 4, String(count))
})

for (const [place, request] of [
  ['system', { system: marked.system }],
  ['tools', { tools: marked.tools }],
  ['text', { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }] }],
  ['image', { messages: [{ role: 'user', content: [{ ...imageBlock, ...mark }] }] }],
  ['document', { messages: [{ role: 'user', content: [{ ...pdfBlock, ...mark }] }] }],
  ['request', mark],
] as const) {
  test(`C1: a mark on ${place} becomes a cache point`, async t => {
    const { request: ask, sentText } = await startPair(t, 'bedrock-converse', { script: [{}] })
    await ask(request)
    assert.equal(sentText().split('"cachePoint"').length - 1, 1)
  })
}

test('C2: nothing inside tool inputs or schemas is touched', async t => {
  const { request: ask, sentText } = await startPair(t, 'bedrock-converse', { script: [{}] })
  const schema = { type: 'object', properties: { cache_control: { type: 'object' }, ttl: { type: 'string' } } }
  await ask({ ...marked, tools: [{ ...tool, input_schema: schema, ...mark }] })
  assert.ok(sentText().includes(JSON.stringify(schema)))
  assert.ok(sentText().includes('"input":{"cache_control":"mine"}'))
})

for (const protocol of ['openai-chat', 'openai-responses'] as const) {
  test(`C3, ${protocol}: no cache_control and no thinking field reaches the upstream`, async t => {
    const { request: ask, sent } = await startPair(t, protocol, { script: [{}] })
    await ask({ ...marked, thinking: { type: 'adaptive' } })
    const text = JSON.stringify(sent(), (key, value) => (key === 'arguments' ? undefined : value))
    assert.doesNotMatch(text, /cache_control|"thinking"/)
  })
}

for (const protocol of everyProtocol) {
  test(`C4, ${protocol}: two equal requests give equal upstream bytes`, async t => {
    const { request: ask, upstream } = await startPair(t, protocol, { script: [{}] })
    await ask(marked)
    await ask(marked)
    const [first, second] = upstream.requests
    assert.ok(first && second && first.rawBody.equals(second.rawBody))
  })

  test(`C5, ${protocol}: a count covers system, tools, images and documents, and marks an estimate`, async t => {
    const { post, app } = await startPair(t, protocol, { script: [{}], countTokens: 'absent' })
    const count = async (more: object) => {
      const response = await post(more, { path: '/v1/messages/count_tokens' })
      assert.equal(response.headers.get('x-switchyard-estimated'), 'input_tokens')
      return ((await response.json()) as { input_tokens: number }).input_tokens
    }
    const plain = await count({})
    const user = (block: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, block] }] })
    for (const more of [{ system: 'be brief' }, { tools: [tool] }, user(imageBlock), user(pdfBlock)])
      assert.ok((await count(more)) > plain, JSON.stringify(more))
    assert.equal(app.booked.length, 0)
  })
}

for (const protocol of ['anthropic-messages', ...translated.filter(name => name !== 'openai-chat')] as const) {
  test(`C5, ${protocol}: the upstream’s own counter is asked, and its figure is exact`, async t => {
    const { post, upstream } = await startPair(t, protocol, { script: [{}], countTokens: 4321 })
    const response = await post({ system: 'be brief' }, { path: '/v1/messages/count_tokens' })
    assert.deepEqual(await response.json(), { input_tokens: 4321 })
    assert.equal(response.headers.get('x-switchyard-estimated'), null)
    assert.equal(upstream.countRequests.length, 1)
  })
}

/** GPT-5.6 and later cache up to breakpoints, which are on parts of user messages, of instructions and of results. */
const explicit = { prompt_cache_breakpoint: { mode: 'explicit' } }
const breakpointsIn = (text: string): number => text.split(JSON.stringify(explicit).slice(1, -1)).length - 1
const newModels = { 'openai-chat': 'gpt-5.6-sol', 'openai-responses': 'gpt-6-luna' } as const

for (const protocol of ['openai-chat', 'openai-responses'] as const) {
  const newest = { provider: 'openai', upstreamModel: newModels[protocol] }
  const degradedOf = (response: Response) => (response.headers.get('x-switchyard-degraded') ?? '').split(', ')

  for (const [place, request, expected] of [
    [
      'system',
      { system: [{ type: 'text', text: 'be brief', ...mark }] },
      /"text":"be brief","prompt_cache_breakpoint"/,
    ],
    [
      'text',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] }] },
      /"text":"hi","prompt_/,
    ],
    ['image', { messages: [{ role: 'user', content: [{ ...imageBlock, ...mark }] }] }, /base64,.*"prompt_cache/],
    ['document', { messages: [{ role: 'user', content: [{ ...pdfBlock, ...mark }] }] }, /base64,.*"prompt_cache/],
    [
      'result',
      { ...marked, ...mark, system: 'x', tools: [tool], messages: marked.messages.slice(1) },
      /"text":"sea","prompt_/,
    ],
  ] as const) {
    test(`F4, ${protocol}: a mark on ${place} is a breakpoint of GPT-5.6 and later, at the end of what it marks`, async t => {
      const { request: ask, sentText } = await startPair(t, protocol, { script: [{}], changes: newest })
      await ask(request)
      assert.equal(breakpointsIn(sentText()), 1, sentText())
      assert.match(sentText(), expected)
      assert.doesNotMatch(sentText().replaceAll(/"arguments":"(?:[^"\\]|\\.)*"/g, ''), /cache_control/)
    })
  }

  test(`F4, ${protocol}: three breakpoints go out at most, and the client reads which marks were dropped`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: newest })
    const response = await post(marked)
    assert.equal(response.status, 200, await response.text())
    assert.equal(breakpointsIn(sentText()), 3, sentText())
    const dropped = [
      'tools.0.cache_control=dropped',
      'messages.0.content.2.cache_control=dropped',
      'messages.1.content.0.cache_control=dropped',
      'messages.2.content.0.cache_control=dropped',
    ]
    assert.deepEqual(
      degradedOf(response).filter(pair => pair.includes('cache_control')),
      dropped,
    )
  })

  test(`F4, ${protocol}: marked instructions say the same in the same order, and equal requests are equal bytes`, async t => {
    const { request: ask, sent, upstream } = await startPair(t, protocol, { script: [{}], changes: newest })
    const system = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two', ...mark },
      { type: 'text', text: 'three' },
    ]
    for (const _ of [1, 2]) await ask({ system })
    const [first, second] = upstream.requests
    assert.ok(first && second && first.rawBody.equals(second.rawBody))
    const field = protocol === 'openai-chat' ? 'messages' : 'input'
    const [turn] = sent<Record<string, { role: string; content: { text: string }[] }[]>>()[field] ?? []
    assert.equal(turn?.role, 'system')
    assert.deepEqual(
      turn?.content.map(({ text }) => text.trim()),
      ['one', 'two', 'three'],
    )
  })

  test(`F4, ${protocol}: a lifetime of an hour is reported, and a base_model or another provider decides on breakpoints`, async t => {
    const hour = { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] }
    const named = { ...newest, upstreamModel: 'ours', baseModel: { provider: 'openai', model: newest.upstreamModel } }
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: named })
    const response = await post(hour)
    assert.ok(degradedOf(response).includes('system.0.cache_control.ttl=dropped'), String(degradedOf(response)))
    assert.equal(breakpointsIn(sentText()), 1)
    for (const changes of [
      { ...newest, provider: 'openai-compatible' },
      { provider: 'openai', upstreamModel: 'gpt-5.5' },
    ]) {
      const other = await startPair(t, protocol, { script: [{}], changes })
      await other.request(hour)
      assert.equal(breakpointsIn(other.sentText()), 0)
    }
  })
}

test('F4: breakpoints and the options of the cache are carried between OpenAI’s formats', async t => {
  const chat = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...explicit }] }] }
  const content = [{ type: 'input_text', text: 'hi', ...explicit }]
  const input = { messages: undefined, max_tokens: undefined, input: [{ role: 'user', content }] }
  for (const [protocol, path, body] of [
    ['openai-responses', '/v1/chat/completions', chat],
    ['openai-chat', '/v1/responses', input],
  ] as const) {
    const changes = { provider: 'openai', upstreamModel: newModels[protocol] }
    const { post, sent, sentText } = await startPair(t, protocol, { script: [{}], changes })
    const response = await post({ ...body, prompt_cache_options: { mode: 'explicit' } }, { path })
    assert.equal(response.status, 200, await response.text())
    assert.equal(breakpointsIn(sentText()), 1, sentText())
    assert.deepEqual(sent()['prompt_cache_options'], { mode: 'explicit' })
  }
})
