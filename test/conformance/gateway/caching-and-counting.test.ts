import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyProtocol } from '../../support/spoken-protocols.ts'
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
  const { ask, sent } = await startPair(t, 'bedrock-converse', { script: [{}] })
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
    const { ask, sentText } = await startPair(t, 'bedrock-converse', { script: [{}] })
    await ask(request)
    assert.equal(sentText().split('"cachePoint"').length - 1, 1)
  })
}

test('C2: nothing inside tool inputs or schemas is touched', async t => {
  const { ask, sentText } = await startPair(t, 'bedrock-converse', { script: [{}] })
  const schema = { type: 'object', properties: { cache_control: { type: 'object' }, ttl: { type: 'string' } } }
  await ask({ ...marked, tools: [{ ...tool, input_schema: schema, ...mark }] })
  assert.ok(sentText().includes(JSON.stringify(schema)))
  assert.ok(sentText().includes('"input":{"cache_control":"mine"}'))
})

for (const protocol of ['openai-chat', 'openai-responses'] as const) {
  test(`C3, ${protocol}: no cache_control and no thinking field reaches the upstream`, async t => {
    const { ask, sent } = await startPair(t, protocol, { script: [{}] })
    await ask({ ...marked, thinking: { type: 'adaptive' } })
    const text = JSON.stringify(sent(), (key, value) => (key === 'arguments' ? undefined : value))
    assert.doesNotMatch(text, /cache_control|"thinking"/)
  })
}

for (const protocol of everyProtocol) {
  test(`C4, ${protocol}: two equal requests give equal upstream bytes`, async t => {
    const { ask, upstream } = await startPair(t, protocol, { script: [{}] })
    await ask(marked)
    await ask(marked)
    const [first, second] = upstream.requests
    assert.ok(first && second && first.rawBody.equals(second.rawBody))
  })

  test(`C5, ${protocol}: a count covers system, tools, images and documents, and says when it is a guess`, async t => {
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
