import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPair, tool, translated } from './setup.ts'

/** Numbers that a double changes, or that JavaScript writes in another way. */
const input = '{"id":2512292042121000001,"price":1.0,"size":1e5,"list":[10.50,0.1],"text":"1.0"}'
const escaped = JSON.stringify(input).slice(1, -1)

/** A history with a call, in the format of Messages. */
const messages = `[{"role":"user","content":"go"},
  {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":${input}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}]`
const request = `{"model":"test-model","max_tokens":100,"temperature":1.0,"tools":[${JSON.stringify(tool)}],"messages":${messages}}`

for (const protocol of translated) {
  test(`${protocol}: numbers in the input of a tool call of Messages arrive as the client wrote them`, async t => {
    const { app, sentText } = await startPair(t, protocol, { script: [{}] })
    assert.equal((await app.post(request)).status, 200)
    assert.ok(sentText().includes(input) || sentText().includes(escaped), sentText())
    assert.doesNotMatch(sentText(), /"temperature":1\.0/)
  })
}

const chatHistory = {
  model: 'test-model',
  messages: [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: input } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  ],
}

for (const protocol of ['anthropic-messages', 'gemini', 'bedrock-converse'] as const) {
  test(`${protocol}: numbers in the arguments of Chat Completions stay the same in an object`, async t => {
    const { app, sentText } = await startPair(t, protocol, { script: [{}] })
    await app.post(chatHistory, { path: '/v1/chat/completions' })
    assert.ok(sentText().includes(input), sentText())
  })
}

const answers = {
  'openai-chat': `{"id":"c1","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
    "tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"${escaped}"}}]}}]}`,
  gemini: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":${input}}}]},"finishReason":"STOP"}]}`,
  'bedrock-converse': `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"look","input":${input}}}]}},
    "stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`,
  'anthropic-messages': `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,
    "content":[{"type":"tool_use","id":"toolu_1","name":"look","input":${input}}],"usage":{"input_tokens":1,"output_tokens":1}}`,
} as const

for (const [protocol, body] of Object.entries(answers) as readonly [keyof typeof answers, string][]) {
  test(`${protocol}: numbers in the calls of an answer reach the clients of all formats unchanged`, async t => {
    const { app } = await startPair(t, protocol, {
      script: [{ body, headers: { 'content-type': 'application/json' } }],
    })
    const asked = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'go' }] }
    const texts = [
      await (await app.post(asked)).text(),
      await (await app.post(asked, { path: '/v1/chat/completions' })).text(),
      await (await app.post({ contents: [{ parts: [{ text: 'go' }] }] }, { path: geminiPath })).text(),
    ]
    for (const text of texts) assert.ok(text.includes(input) || text.includes(escaped), text)
  })
}

const geminiPath = '/v1beta/models/test-model:generateContent'

test('gemini: numbers in the calls of a stream stay the same', async t => {
  const chunk = `data: ${answers.gemini}\n\n`
  const { post } = await startPair(t, 'gemini', { script: [{ frames: [chunk] }] })
  const text = await (await post({ stream: true })).text()
  assert.ok(text.includes(escaped), text)
})

test('a number is not an object: arguments that are none are passed on as a text', async t => {
  const { app, sentText } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const [user, assistant, result] = chatHistory.messages
  const [call] = assistant?.tool_calls ?? []
  const odd = { ...assistant, tool_calls: [{ ...call, function: { name: 'look', arguments: '5.0' } }] }
  await app.post({ ...chatHistory, messages: [user, odd, result] }, { path: '/v1/chat/completions' })
  assert.ok(sentText().includes('"input":{"arguments":"5.0"}'), sentText())
})
