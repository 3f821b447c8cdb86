import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService({ models: ['claude-sonnet-5'] })
const model = 'claude-sonnet-5'
const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 })
const sent = () => upstream.requests.at(-1)?.body ?? {}
const said = (content: string) => [{ role: 'user' as const, content }]

const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
const tools = [{ type: 'function' as const, function: { name: 'bash', description: 'Runs a command', parameters } }]

test('openai: chat.completions.create gives the text and the usage of the upstream, with cached tokens counted in', async () => {
  const written = { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 3 }
  const usage = { cache_read_input_tokens: 100, cache_creation_input_tokens: 7, cache_creation: written }
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: 'developer', content: 'Be brief.' }, ...said(saying({ text: 'Hi there.', usage }))],
  })
  const [choice] = answer.choices
  assert.deepEqual(
    [choice?.message.content, choice?.message.role, choice?.finish_reason],
    ['Hi there.', 'assistant', 'stop'],
  )
  assert.deepEqual(
    [answer.usage?.prompt_tokens, answer.usage?.completion_tokens, answer.usage?.prompt_tokens_details?.cached_tokens],
    [132, 10, 100],
  )
  assert.match(answer._request_id ?? '', /^req_/)
  assert.deepEqual(sent()['system'], [{ type: 'text', text: 'Be brief.' }])
  assert.equal(upstream.requests.at(-1)?.url, '/v1/messages')
})

test('openai: a streamed chat gives each text, and its usage when asked', async () => {
  const stream = await client.chat.completions.create({
    model,
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'high',
    messages: said(saying({ thinking: 'Let me think about it.', text: 'One two three four five.' })),
  })
  let text = ''
  let thinking = ''
  let total: number | undefined
  for await (const { choices, usage } of stream) {
    const delta = choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined
    text += delta?.content ?? ''
    thinking += delta?.reasoning_content ?? ''
    total = usage?.total_tokens ?? total
  }
  assert.deepEqual([text, thinking, total], ['One two three four five.', 'Let me think about it.', 35])
  assert.deepEqual(
    [sent()['thinking'], sent()['output_config']],
    [{ type: 'adaptive', display: 'summarized' }, { effort: 'high' }],
  )
})

test('openai: a chat with tools runs its turn: calls, results, and the answer after them', async () => {
  const calls = [bash('ls').tool_calls, bash('pwd').tool_calls].flatMap(list => list ?? [])
  const messages: ChatCompletionMessageParam[] = said(
    saying({ text: 'Looking.', tool_calls: calls }, { text: 'Done.' }),
  )
  const first = await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion()
  const { message, finish_reason: finish } = first.choices[0] ?? assert.fail('there is a choice')
  assert.equal(finish, 'tool_calls')
  assert.deepEqual(
    message.tool_calls?.map(call => call.type === 'function' && JSON.parse(call.function.arguments)),
    [{ command: 'ls' }, { command: 'pwd' }],
  )
  messages.push(message)
  for (const { id } of message.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: id, content: `ran ${id}` })
  const second = await client.chat.completions.create({ model, messages, tools })
  assert.equal(second.choices[0]?.message.content, 'Done.')
  const turns = sent()['messages'] as { role: string; content: { type: string }[] }[]
  assert.deepEqual(
    turns.map(({ role, content }) => [role, content.map(({ type }) => type)]),
    [
      ['user', ['text']],
      ['assistant', ['text', 'tool_use', 'tool_use']],
      ['user', ['tool_result', 'tool_result']],
    ],
  )
})

test('openai: responses.create gives text, status and usage', async () => {
  const answer = await client.responses.create({ model, instructions: 'Be brief.', input: saying({ text: 'Hello.' }) })
  assert.deepEqual([answer.output_text, answer.status, answer.object], ['Hello.', 'completed', 'response'])
  assert.deepEqual([answer.usage?.input_tokens, answer.usage?.output_tokens, answer.usage?.total_tokens], [25, 10, 35])
  assert.match(answer.id, /^resp_/)
  const cut = await client.responses.create({ model, input: saying({ text: 'Hel', stopReason: 'max_tokens' }) })
  assert.deepEqual([cut.status, cut.incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
})

const responseTools = [
  { type: 'function' as const, name: 'bash', parameters, strict: null },
  { type: 'custom' as const, name: 'apply_patch', description: 'Edits files' },
]

test('openai: a streamed response runs a turn without storage: thinking and calls go back as items of the input', async () => {
  const patch = '*** Begin Patch\n+"quoted" \u{1F600}\n*** End Patch'
  const first = saying(
    {
      thinking: 'I should look.',
      text: 'Looking.',
      tool_calls: [
        { name: 'bash', input: { command: 'ls' } },
        { name: 'apply_patch', input: { input: patch } },
      ],
    },
    { text: 'Done.' },
  )
  const input: ResponseInputItem[] = said(first)
  const request = { model, tools: responseTools, store: false, include: ['reasoning.encrypted_content' as const] }
  const stream = client.responses.stream({ ...request, input, reasoning: { effort: 'low', summary: 'auto' } })
  const deltas: string[] = []
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
  const { output } = await stream.finalResponse()
  assert.equal(deltas.join(''), 'Looking.')
  assert.deepEqual(
    output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call', 'custom_tool_call'],
  )
  const [reasoning, , called, custom] = output
  assert.deepEqual(reasoning?.type === 'reasoning' && reasoning.summary, [
    { type: 'summary_text', text: 'I should look.' },
  ])
  assert.deepEqual(called?.type === 'function_call' && JSON.parse(called.arguments), { command: 'ls' })
  assert.equal(custom?.type === 'custom_tool_call' && custom.input, patch)

  input.push(...(output as ResponseInputItem[]))
  for (const item of output) {
    if (item.type === 'function_call')
      input.push({ type: 'function_call_output', call_id: item.call_id, output: 'a.txt' })
    if (item.type === 'custom_tool_call')
      input.push({ type: 'custom_tool_call_output', call_id: item.call_id, output: 'patched' })
  }
  const answer = await client.responses.create({ ...request, input })
  assert.equal(answer.output_text, 'Done.')
  const turns = sent()['messages'] as { role: string; content: Record<string, unknown>[] }[]
  const [thinking, ...rest] = turns[1]?.content ?? []
  assert.equal(thinking?.['thinking'], 'I should look.')
  assert.match(String(thinking?.['signature']), /^sig_\d+$/, 'the signature is back as it came')
  assert.deepEqual(
    rest.map(({ type, input: given }) => [type, given]),
    [
      ['text', undefined],
      ['tool_use', { command: 'ls' }],
      ['tool_use', { input: patch }],
    ],
  )
  assert.deepEqual(
    turns[2]?.content.map(({ type }) => type),
    ['tool_result', 'tool_result'],
  )
})

test('openai: models are listed, and the demo model answers in both formats', async () => {
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  assert.deepEqual(ids, [model, 'demo'])
  const chat = await client.chat.completions.create({ model: 'demo', messages: said('hello') })
  assert.match(chat.choices[0]?.message.content ?? '', /demo model/)
  const response = await client.responses.create({ model: 'demo', input: 'hello' })
  assert.match(response.output_text, /demo model/)
})

const { APIError, AuthenticationError, BadRequestError, InternalServerError, NotFoundError, RateLimitError } = OpenAI

test('openai: failures are the classes of the SDK, with our text and request id', async () => {
  const stranger = new OpenAI({
    baseURL: `${service.url}/v1`,
    apiKey: 'sk-test-wrong-key-0123456789abcdef',
    maxRetries: 0,
  })
  const chat = (content: string, changes: object = {}) =>
    client.chat.completions.create({ model, messages: said(content), ...changes })
  await assert.rejects(stranger.responses.create({ model, input: 'hi' }), AuthenticationError)
  const unknown = [
    () => chat('hi', { model: 'nope' }),
    () => chat('hi', { model: 'nope', stream: true }),
    () => client.responses.create({ model: 'nope', input: 'hi', stream: true }),
  ]
  for (const call of unknown) {
    await assert.rejects(call, error => {
      assert.ok(error instanceof NotFoundError)
      assert.deepEqual([error.code, error.type, error.param], ['model_not_found', 'invalid_request_error', null])
      assert.match(error.message, /model nope not found/)
      assert.match(error.requestID ?? '', /^req_/)
      return true
    })
  }
  const wrong: [() => Promise<unknown>, RegExp][] = [
    [() => chat('hi', { max_tokens: 0 }), /max_tokens must be 1 or more/],
    [() => chat('hi', { n: 2 }), /n must be 1/],
    [() => client.responses.create({ model, input: 'hi', conversation: 'conv_1' }), /conversation is not supported/],
    [() => client.embeddings.create({ model, input: 'hi' }), /claude-sonnet-5 does not support \/v1\/embeddings/],
  ]
  for (const [call, text] of wrong)
    await assert.rejects(call, error => error instanceof BadRequestError && text.test(error.message))
})

test('openai: an upstream’s error is the SDK’s error of that status, its text taken out of its envelope', async () => {
  const refusal = (status: number, type: string, message: string) =>
    saying({ status, body: JSON.stringify({ type: 'error', error: { type, message } }) })
  const limited = refusal(429, 'rate_limit_error', 'Slow down')
  await assert.rejects(client.chat.completions.create({ model, messages: said(limited) }), error => {
    assert.ok(error instanceof RateLimitError)
    assert.deepEqual([error.code, error.message], ['rate_limit_exceeded', '429 Slow down'])
    return true
  })
  const long = refusal(400, 'invalid_request_error', 'prompt is too long: 300000 tokens > 200000 maximum')
  await assert.rejects(client.responses.create({ model, input: long }), error => {
    assert.ok(error instanceof BadRequestError)
    assert.equal(error.code, 'context_length_exceeded')
    return true
  })
  await assert.rejects(
    client.responses.create({ model, input: refusal(529, 'overloaded_error', 'Overloaded'), stream: true }),
    error => error instanceof InternalServerError && error.status === 529,
  )
})

test('openai: a stream that breaks is an error of the SDK in a chat, and a failed response', async () => {
  const broken = saying({ text: 'One two three four five six seven.', cutAfterBytes: 900 })
  const stream = await client.chat.completions.create({ model, messages: said(broken), stream: true })
  await assert.rejects(Array.fromAsync(stream), APIError)
  const response = await client.responses.stream({ model, input: broken }).finalResponse()
  assert.deepEqual([response.status, response.error?.code], ['failed', 'server_error'])
})
