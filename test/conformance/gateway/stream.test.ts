import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awsEvent } from '../../support/upstream/dialects/aws-frame.ts'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { afterCall, startPair, tool, translated } from './setup.ts'

const call = { name: 'look', input: { what: 'the sea' } }
const toolAnswer = { tool_calls: [call] }

for (const protocol of everyProtocol) {
  test(`T1, ${protocol}: the one message_start comes first, also when the first thing said is a tool call`, async t => {
    const { stream } = await startPair(t, protocol, { script: [toolAnswer] })
    const { events } = await stream({ tools: [tool] })
    assert.equal(events[0]?.type, 'message_start')
    assert.equal(events.filter(({ type }) => type === 'message_start').length, 1)
  })

  test(`T2, ${protocol}: each block has one start and one stop, and no delta comes for a closed one`, async t => {
    const answer = { thinking: 'let me see', text: 'two calls', tool_calls: [call, { ...call, name: 'again' }] }
    const { stream } = await startPair(t, protocol, { script: [answer] })
    const { events, content } = await stream({ tools: [tool] })
    for (const type of ['content_block_start', 'content_block_stop'])
      assert.equal(events.filter(event => event.type === type).length, content.length)
    assert.deepEqual(
      content.map(({ type }) => type),
      ['thinking', 'text', 'tool_use', 'tool_use'],
    )
  })

  test(`T6, ${protocol}: a stream that opens with a tool call has no empty text block before it`, async t => {
    const { stream } = await startPair(t, protocol, { script: [toolAnswer] })
    const { content } = await stream({ tools: [tool] })
    assert.deepEqual(
      content.map(({ type, name, input }) => ({ type, name, input })),
      [{ type: 'tool_use', ...call }],
    )
  })

  test(`T7, ${protocol}: reasoning becomes a thinking block, not text`, async t => {
    const { stream, request: ask } = await startPair(t, protocol, {
      script: [{ thinking: 'hm, the sea', text: 'blue' }],
    })
    const said = await stream()
    assert.equal(said.text, 'blue')
    assert.equal(said.content[0]?.['thinking'], 'hm, the sea')
    assert.equal((await ask()).content[0]?.['thinking'], 'hm, the sea')
  })

  test(`T8, ${protocol}: a call without arguments gives input {} and valid JSON`, async t => {
    const { stream, request: ask } = await startPair(t, protocol, {
      script: [{ tool_calls: [{ name: 'look', input: {} }] }],
    })
    assert.deepEqual((await stream({ tools: [tool] })).content[0]?.['input'], {})
    assert.deepEqual((await ask({ tools: [tool] })).content[0]?.['input'], {})
  })

  test(`T9, ${protocol}: arguments of several hundred KB in thousands of deltas arrive complete`, async t => {
    const input = { what: 'x'.repeat(300_000), last: 'ü' }
    const { stream } = await startPair(t, protocol, { script: [{ tool_calls: [{ name: 'look', input }] }] })
    assert.deepEqual((await stream({ tools: [tool] })).content[0]?.['input'], input)
  })

  test(`T11, ${protocol}: an empty answer still has its start, delta and stop`, async t => {
    const { stream } = await startPair(t, protocol, { script: [{ text: '' }] })
    const { events, text, stopReason } = await stream()
    assert.equal(text, '')
    assert.equal(stopReason, 'end_turn')
    assert.equal(events.at(-1)?.type, 'message_stop')
  })

  test(`T13, ${protocol}: tool_use ids fit the pattern, and the next turn names the call as the upstream knows it`, async t => {
    const { stream, sentText } = await startPair(t, protocol, { script: [toolAnswer, { text: 'seen' }] })
    const { content } = await stream({ tools: [tool] })
    const [block] = content
    const id = String(block?.['id'])
    assert.match(id, /^[a-zA-Z0-9_-]+$/)
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [block] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'waves' }] },
    ]
    await stream({ tools: [tool], messages })
    assert.ok(sentText().includes('waves'))
    if (protocol !== 'gemini') assert.equal(sentText().split(`"${id}"`).length - 1, 2)
  })
}

const choice = (delta: object, finish: string | null = null) =>
  dataFrame({
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
const chatCall = (name: string, text: string) => ({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: text } }],
})
const part = (parts: object[], finish?: string) =>
  dataFrame({ candidates: [{ content: { role: 'model', parts }, ...(finish && { finishReason: finish }) }] })
const done = Buffer.from('data: [DONE]\n\n')

/** Answers as only some protocols can give them, frame by frame. */
const odd: readonly (readonly [string, SpokenProtocol, readonly (string | Buffer)[], object])[] = [
  [
    'T3, openai-chat: text and a tool call in the same chunk keep the arguments of that chunk',
    'openai-chat',
    [choice({ content: 'so', ...chatCall('look', '{"what":"it"}') }), choice({}, 'tool_calls'), done],
    { text: 'so', input: { what: 'it' }, stop: 'tool_use' },
  ],
  [
    'T3, gemini: text and a tool call in the same chunk keep both',
    'gemini',
    [part([{ text: 'so' }, { functionCall: { name: 'look', args: { what: 'it' } } }], 'STOP')],
    { text: 'so', input: { what: 'it' }, stop: 'tool_use' },
  ],
  [
    'T4, gemini: a call whose name and arguments come in one chunk yields its delta',
    'gemini',
    [part([{ functionCall: { name: 'look', args: { what: 'all' } } }]), part([], 'STOP')],
    { text: '', input: { what: 'all' }, stop: 'tool_use' },
  ],
  [
    'T4, openai-chat: a call whose name and arguments come in one chunk yields its delta',
    'openai-chat',
    [choice(chatCall('look', '{"what":"all"}')), choice({}, 'stop'), done],
    { text: '', input: { what: 'all' }, stop: 'tool_use' },
  ],
  [
    'T5, openai-chat: an empty tool_calls list beside content is plain text',
    'openai-chat',
    [choice({ content: 'plain', tool_calls: [] }), choice({ tool_calls: [] }, 'stop'), done],
    { text: 'plain', stop: 'end_turn' },
  ],
  [
    'T12, openai-chat: comments, data without a space and a missing [DONE] are read',
    'openai-chat',
    [': keep-alive\n\n', 'data:{"choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n', ':\n\n', choice({}, 'stop')],
    { text: 'ok', stop: 'end_turn' },
  ],
]

for (const [guarantee, protocol, frames, expected] of odd) {
  test(guarantee, async t => {
    const { stream } = await startPair(t, protocol, { script: [{ frames }] })
    const { text, content, stopReason } = await stream({ tools: [tool] })
    const input = content.find(({ type }) => type === 'tool_use')?.['input']
    assert.deepEqual({ text, ...(input !== undefined && { input }), stop: stopReason }, expected)
  })
}

test('T12, openai-chat: usage after the finish chunk, in one packet with it, is read', async t => {
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
  const last = Buffer.concat([choice({}, 'stop'), dataFrame({ choices: [], usage }), done])
  const { stream } = await startPair(t, 'openai-chat', { script: [{ frames: [choice({ content: 'ok' }), last] }] })
  const said = await stream()
  assert.deepEqual([said.usage['input_tokens'], said.usage['output_tokens']], [9, 4])
})

test('T10, openai-responses: argument deltas never restart the block, and the final arguments add nothing', async t => {
  const item = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look', arguments: '' }
  const event = (type: string, more: object) =>
    Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, output_index: 0, ...more })}\n\n`)
  const frames = [
    event('response.output_item.added', { item }),
    event('response.function_call_arguments.delta', { item_id: 'fc_1', delta: '{"what":' }),
    event('response.function_call_arguments.delta', { item_id: 'fc_1', delta: '"it"}' }),
    event('response.function_call_arguments.done', { item_id: 'fc_1', arguments: '{"what":"it"}' }),
    event('response.output_item.done', { item: { ...item, arguments: '{"what":"it"}' } }),
    event('response.completed', { response: { status: 'completed', output: [] } }),
  ]
  const { stream } = await startPair(t, 'openai-responses', { script: [{ frames }] })
  const { events, content } = await stream({ tools: [tool] })
  assert.equal(events.filter(({ type }) => type === 'content_block_start').length, 1)
  assert.deepEqual(content[0]?.['input'], { what: 'it' })
})

test('T12, bedrock-converse: usage comes behind the stop, and is read', async t => {
  const frames = [
    awsEvent('messageStart', { role: 'assistant' }),
    awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'ok' } }),
    awsEvent('contentBlockStop', { contentBlockIndex: 0 }),
    Buffer.concat([
      awsEvent('messageStop', { stopReason: 'end_turn' }),
      awsEvent('metadata', { usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 } }),
    ]),
  ]
  const { stream } = await startPair(t, 'bedrock-converse', { script: [{ frames }] })
  const { usage, text } = await stream()
  assert.deepEqual([text, usage['input_tokens'], usage['output_tokens']], ['ok', 9, 4])
})

for (const protocol of translated) {
  test(`T13, ${protocol}: an upstream’s odd call id becomes a legal one, the same in every turn`, async t => {
    const id = 'call:1/ü|'
    const { stream, request: ask } = await startPair(t, protocol, { script: [{ tool_calls: [{ ...call, id }] }] })
    const streamed = (await stream({ tools: [tool] })).content[0]?.['id']
    assert.match(String(streamed), /^[a-zA-Z0-9_-]+$/)
    if (protocol !== 'gemini') assert.equal((await ask({ tools: [tool] })).content[0]?.['id'], streamed)
    assert.equal((await ask(afterCall('done'))).stop_reason, 'tool_use')
  })
}

const lastFrames = {
  'openai-chat': { choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] },
  'openai-responses': {
    type: 'response.completed',
    response: {
      ...{ id: 'r', object: 'response', status: 'completed' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
    },
  },
} as const

for (const [protocol, last] of Object.entries(lastFrames)) {
  test(`T12, ${protocol}: a last event without an empty line after it is read`, async t => {
    const { stream } = await startPair(t, protocol as keyof typeof lastFrames, {
      script: [{ frames: [dataFrame(last).toString().trimEnd()] }],
    })
    const { text, stopReason } = await stream()
    assert.deepEqual([text, stopReason], ['ok', 'end_turn'])
  })
}

for (const path of ['/v1/responses', '/v1/chat/completions']) {
  test(`E2: the error page of a proxy before Claude is not the message of an error to ${path}`, async t => {
    const { post } = await startPair(t, 'anthropic-messages', {
      script: [{ status: 502, body: '<!DOCTYPE html><html>', headers: { 'content-type': 'text/html' } }],
    })
    const answer = await (await post({ input: 'hi' }, { path })).json()
    assert.equal((answer as { error: { message: string } }).error.message, 'upstream returned status 502')
  })
}
