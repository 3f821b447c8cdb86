import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair } from './setup.ts'

/** Clients by the path that they call, each with what it sends. */
const clients = {
  '/v1/messages': {},
  '/v1/chat/completions': {},
  '/v1/responses': { input: 'hi', messages: undefined, max_tokens: undefined },
  '/v1beta/models/test-model:generateContent': {
    ...{ model: undefined, messages: undefined, max_tokens: undefined, stream: undefined },
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  },
} as const

/** Three searches, where the model's provider runs them and reports the number. */
const usage = { server_tool_use: { web_search_requests: 3 } }
const free = { prices: { input: 0, output: 0 } }

const cases: Readonly<
  Partial<Record<SpokenProtocol, { readonly changes: Partial<Deployment>; readonly cost: string }>>
> = {
  'anthropic-messages': { changes: {}, cost: '0.03' },
  'openai-chat': { changes: { provider: 'openrouter', upstreamModel: 'anthropic/claude-opus-5' }, cost: '0.03' },
  'openai-responses': { changes: {}, cost: '0.03' },
  gemini: { changes: {}, cost: '0.042' },
}

for (const protocol of everyProtocol) {
  const found = cases[protocol]
  if (!found) continue
  for (const [path, body] of Object.entries(clients)) {
    for (const stream of [false, true]) {
      const how = stream ? 'a stream' : 'an answer'
      test(`F11, ${protocol}: the searches of ${how} to ${path} are in the cost of the call`, async t => {
        const { post, app } = await startPair(t, protocol, {
          script: [{ text: 'found', usage }],
          changes: { ...free, ...found.changes },
        })
        const isGoogle = path.startsWith('/v1beta')
        const where = isGoogle && stream ? path.replace(':generateContent', ':streamGenerateContent') : path
        const options = stream && path === '/v1/chat/completions' ? { stream_options: { include_usage: true } } : {}
        const response = await post({ ...(isGoogle ? {} : { stream }), ...options, ...body }, { path: where })
        assert.equal(response.status, 200, await response.text())
        await app.bookedCalls(1)
        const { web_searches, cost_usd, rates } = app.booked[0] ?? assert.fail()
        assert.deepEqual([web_searches, cost_usd], [3, found.cost])
        assert.equal(Number(rates?.['web_search']) * 3, Number(found.cost))
      })
    }
  }
}

test('F11: its own model states what a search costs, and a fee without a stated rate is in no cost', async t => {
  for (const [searchPrice, cost] of [
    [0.5, '1.5'],
    [undefined, '0'],
  ] as const) {
    const { request: ask, app } = await startPair(t, 'anthropic-messages', {
      script: [{ usage }],
      changes: { ...free, provider: 'own', ...(searchPrice !== undefined && { searchPrice }) },
    })
    await ask()
    await app.bookedCalls(1)
    assert.equal(app.booked[0]?.cost_usd, cost)
  }
})

test('F11: file searches and containers of a response have their fees, and looking into a page has none', async t => {
  const call = (type: string, more: object = {}) => ({ id: `${type}_${JSON.stringify(more).length}`, type, ...more })
  const output = [
    call('web_search_call', { action: { type: 'search' } }),
    call('web_search_call', { action: { type: 'find_in_page', pattern: 'x' } }),
    call('file_search_call'),
    call('code_interpreter_call', { container_id: 'cntr_1' }),
    call('code_interpreter_call', { container_id: 'cntr_1', more: 1 }),
  ]
  const counts = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const body = JSON.stringify({ id: 'r', object: 'response', status: 'completed', output, usage: counts })
  const { post, app } = await startPair(t, 'openai-responses', { script: [{ body }], changes: free })
  await (await post({ ...clients['/v1/responses'] }, { path: '/v1/responses' })).text()
  await app.bookedCalls(1)
  const { web_searches, units, cost_usd } = app.booked[0] ?? assert.fail()
  assert.deepEqual([web_searches, units, cost_usd], [1, { file_search: 1, code_container: 1 }, '0.0425'])
})

for (const [upstreamModel, type, cost] of [
  ['gpt-4.1', 'web_search', '0.01'],
  ['gpt-4.1', 'web_search_preview', '0.025'],
  ['gpt-5.5', 'web_search_preview', '0.01'],
] as const) {
  test(`F11: a search by ${type} of ${upstreamModel} costs ${cost}, streamed or not`, async t => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } }
    const counts = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const response = { id: 'r', object: 'response', status: 'completed', output: [search], usage: counts }
    const ended = `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response })}\n\n`
    const { post, app } = await startPair(t, 'openai-responses', {
      script: [{ body: JSON.stringify(response) }, { body: ended, headers: { 'content-type': 'text/event-stream' } }],
      changes: { ...free, upstreamModel },
    })
    for (const stream of [false, true]) {
      const body = { ...clients['/v1/responses'], tools: [{ type }], stream }
      await (await post(body, { path: '/v1/responses' })).text()
    }
    await app.bookedCalls(2)
    for (const { web_searches, units, cost_usd } of app.booked)
      assert.deepEqual([web_searches, units, cost_usd], [1, null, cost])
  })
}

for (const [upstreamModel, tool, cost] of [
  // 100 tokens of text at 5, 900 of images at 10, and 1,000 of output at 40 dollars per million.
  ['gpt-5.5', { model: 'gpt-image-1' }, '0.0495'],
  // 5, 8 and 30 dollars.
  ['gpt-5.5', { model: 'gpt-image-2' }, '0.0377'],
  ['gpt-5.5', {}, '0.0495'],
] as const) {
  test(`F11: images of OpenAI’s tool cost ${cost} with ${JSON.stringify(tool)}, streamed or not`, async t => {
    const counts = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const tool_usage = {
      image_gen: {
        input_tokens: 1_000,
        input_tokens_details: { text_tokens: 100, image_tokens: 900 },
        output_tokens: 1_000,
        output_tokens_details: { text_tokens: 0, image_tokens: 1_000 },
      },
    }
    const image = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'A'.repeat(300_000) }
    const tools = [
      { type: 'image_generation', ...tool },
      { type: 'function', name: 'f', description: 'x'.repeat(40_000) },
    ]
    const rest = { object: 'response', status: 'completed', output: [image], tool_usage, tools, usage: counts }
    const response = { id: 'r', ...rest }
    const ended = `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response })}\n\n`
    const { post, app } = await startPair(t, 'openai-responses', {
      script: [{ body: JSON.stringify(response) }, { body: ended, headers: { 'content-type': 'text/event-stream' } }],
      changes: { ...free, upstreamModel },
    })
    for (const stream of [false, true])
      await (await post({ ...clients['/v1/responses'], tools, stream }, { path: '/v1/responses' })).text()
    await app.bookedCalls(2)
    for (const { cost_usd, rates } of app.booked)
      assert.deepEqual(
        [cost_usd, Object.keys(rates ?? {}).filter(name => name.startsWith('image_'))],
        [cost, imageRates],
      )
  })
}
test('F11: an imported price list states what the images of OpenAI’s tool cost', async t => {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const tool_usage = { image_gen: { input_tokens: 1_000, output_tokens: 1_000 } }
  const body = JSON.stringify({ id: 'r', object: 'response', status: 'completed', output: [], tool_usage, usage })
  const rates = { input: { base: 1, tiers: [] }, output: { base: 2, tiers: [] } }
  const { post, app } = await startPair(t, 'openai-responses', {
    script: [{ body }],
    changes: free,
    prices: { imported: { 'openai/gpt-image-9': { rates } } },
  })
  const tools = [{ type: 'image_generation', model: 'gpt-image-9' }]
  await (await post({ ...clients['/v1/responses'], tools }, { path: '/v1/responses' })).text()
  await app.bookedCalls(1)
  assert.equal(app.booked[0]?.cost_usd, '0.003')
})

const imageRates = ['image_input', 'image_token', 'image_output']

test('F11: a client of Anthropic’s format reads how often another model has searched', async t => {
  for (const protocol of ['openai-responses', 'gemini'] as const) {
    const { request: ask } = await startPair(t, protocol, { script: [{ usage }] })
    const answer = await ask()
    assert.deepEqual(answer.usage['server_tool_use'], { web_search_requests: 3 })
  }
})
