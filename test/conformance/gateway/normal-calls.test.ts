import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, recordsOf } from '../../../src/server/platform/json.ts'
import { afterCall, startPair, tool, translated } from './setup.ts'

const call = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { what: 'it' } })
const interrupted = {
  tools: [tool],
  messages: [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: [call('toolu_1'), call('toolu_2')] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
    { role: 'assistant', content: [call('toolu_3')] },
    { role: 'user', content: 'go on' },
  ],
}
const marks = /The call was interrupted/g

for (const protocol of translated) {
  test(`${protocol}: tool calls without a result get one, which providers require`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post(interrupted)
    assert.match(
      response.headers.get('x-switchyard-degraded') ?? '',
      /messages\.1\.content\.1=result_added, messages\.3\.content\.0=result_added/,
    )
    assert.equal(sentText().match(marks)?.length, 2)
    assert.ok(sentText().includes('go on'))
  })
}

test('openai-chat: the added result follows the call, before the text of the user', async t => {
  const { post, sent } = await startPair(t, 'openai-chat', { script: [{}] })
  await post(interrupted)
  assert.deepEqual(
    recordsOf(sent()['messages']).map(({ role, tool_call_id: id }) => [role, id].filter(Boolean).join(' ')),
    ['user', 'assistant', 'tool toolu_2', 'tool toolu_1', 'assistant', 'tool toolu_3', 'user'],
  )
})

test('anthropic-messages: calls of Chat Completions without a result get one; one at the end does not', async t => {
  const { app, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const calls = (id: string) => ({
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
  })
  const messages = [
    { role: 'user', content: 'look' },
    calls('call_1'),
    { role: 'user', content: 'stop' },
    calls('call_2'),
  ]
  await app.post({ model: 'test-model', messages }, { path: '/v1/chat/completions' })
  const results = recordsOf(sent()['messages']).flatMap(({ content }) => recordsOf(content))
  assert.deepEqual(
    results.flatMap(({ tool_use_id: id, is_error: isError }) => (id ? [[id, isError]] : [])),
    [['call_1', true]],
  )
})

test('openai-chat: an input that is JSON in a string is sent as an object', async t => {
  const { post, sentText } = await startPair(t, 'openai-chat', { script: [{}] })
  const { tools, messages } = afterCall('seen')
  const [user, , result] = messages
  const assistant = { role: 'assistant', content: [{ ...call('toolu_1'), input: '{"id":2512292042121000001}' }] }
  await post({ tools, messages: [user, assistant, result] })
  assert.ok(sentText().includes(String.raw`"arguments":"{\"id\":2512292042121000001}"`), sentText())
})

const doubled = JSON.stringify('{"what":"it"}')
const wholeAnswer = JSON.stringify({
  id: 'c1',
  choices: [
    {
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: 'call_1', function: { name: 'look', arguments: doubled } }] },
    },
  ],
})

test('openai-chat: arguments that the model encoded twice are the input, whole and streamed', async t => {
  const chunks = [
    { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look', arguments: doubled.slice(0, 5) } }] },
    { tool_calls: [{ index: 0, function: { arguments: doubled.slice(5) } }] },
    { tool_calls: [{ index: 1, id: 'call_2', function: { name: 'look', arguments: '{}' } }] },
  ].map(delta => ({ choices: [{ delta }] }))
  const end = { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }
  const frames = [...chunks, end].map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
  const { request, stream } = await startPair(t, 'openai-chat', {
    script: [{ body: wholeAnswer, headers: { 'content-type': 'application/json' } }, { frames }],
  })
  assert.deepEqual((await request({ tools: [tool] })).content.map(recordOf)[0]?.['input'], { what: 'it' })
  const { content } = await stream({ tools: [tool] })
  assert.deepEqual(
    content.map(block => recordOf(block)['input']),
    [{ what: 'it' }, {}],
  )
})
