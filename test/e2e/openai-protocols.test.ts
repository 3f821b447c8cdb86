import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, upstreamModelOf } from '../support/upstream/spoken-protocols.ts'

const { service, upstreams } = await startEveryProtocol()

/** What the client sent last, byte for byte. */
let given = Buffer.alloc(0)
const client = new OpenAI({
  baseURL: `${service.url}/v1`,
  apiKey: service.key,
  maxRetries: 0,
  fetch(url, init) {
    given = Buffer.from(String(init?.body))
    return fetch(url, init)
  },
})
const said = (content: string) => [{ role: 'user' as const, content }]
const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
const chatTools = [{ type: 'function' as const, function: { name: 'bash', description: 'Runs a command', parameters } }]
const responseTools = [
  { type: 'function' as const, name: 'bash', description: 'Runs a command', parameters, strict: null },
]
const thought = 'I should look around.'
const calls = [...(bash('ls').tool_calls ?? []), ...(bash('pwd').tool_calls ?? [])]
const commands = [{ command: 'ls' }, { command: 'pwd' }]
const turn = saying({ thinking: thought, text: 'Looking.', tool_calls: calls }, { text: 'Done.' })

const lastTo = (protocol: SpokenProtocol) =>
  upstreams[protocol].requests.at(-1) ?? assert.fail('the upstream was called')
const sentTo = (protocol: SpokenProtocol) => lastTo(protocol).rawBody.toString()

/** What the client sent has arrived as it was, but for the name of the model. */
function assertVerbatim(protocol: SpokenProtocol, path: string): void {
  const expected = given.toString().replace(`"${aliasOf(protocol)}"`, `"${upstreamModelOf(protocol)}"`)
  assert.equal(sentTo(protocol), expected)
  assert.equal(lastTo(protocol).url, path)
}

for (const protocol of everyProtocol) {
  const model = aliasOf(protocol)
  const named = (guarantee: string) => `openai 7.55.0 over ${protocol}: ${guarantee}`

  test(named('a chat gives text, finish reason and usage'), async () => {
    const answer = await client.chat.completions.create({
      model,
      messages: [{ role: 'system', content: 'Be brief.' }, ...said(saying({ text: 'Hi there.' }))],
    })
    if (protocol === 'openai-chat') assertVerbatim(protocol, '/v1/chat/completions')
    const [choice] = answer.choices
    assert.deepEqual([choice?.message.content, choice?.finish_reason], ['Hi there.', 'stop'])
    assert.deepEqual([answer.usage?.prompt_tokens, answer.usage?.completion_tokens], [25, 10])
    assert.match(sentTo(protocol), /Be brief\./)
    const cut = saying({ text: 'Hi', stopReason: 'max_tokens' })
    const { choices } = await client.chat.completions.create({ model, messages: said(cut), max_completion_tokens: 9 })
    assert.equal(choices[0]?.finish_reason, 'length')
  })

  test(named('a streamed chat gives each text, and usage exactly when asked'), async () => {
    const request = { model, messages: said(saying({ text: 'One two three four five six.' })), stream: true as const }
    for (const isAsked of [true, false]) {
      const stream = await client.chat.completions.create({
        ...request,
        ...(isAsked && { stream_options: { include_usage: true } }),
      })
      const chunks = await Array.fromAsync(stream)
      if (protocol === 'openai-chat') assertVerbatim(protocol, '/v1/chat/completions')
      const texts = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
      assert.equal(texts.join(''), 'One two three four five six.')
      assert.ok(texts.filter(text => text !== '').length > 1, 'the text comes in pieces')
      const counted = chunks.flatMap(({ usage }) => (usage ? [usage.total_tokens] : []))
      // Output of a server of this format is passed through, requested or not.
      if (isAsked || protocol !== 'openai-chat') assert.deepEqual(counted, isAsked ? [35] : [])
    }
  })

  test(named('a chat with two calls continues with their results'), async () => {
    const messages: ChatCompletionMessageParam[] = said(turn)
    const request = { model, tools: chatTools, reasoning_effort: 'high' as const }
    const first = await client.chat.completions.stream({ ...request, messages }).finalChatCompletion()
    const { message, finish_reason: finish } = first.choices[0] ?? assert.fail('there is a choice')
    assert.equal(finish, 'tool_calls')
    assert.deepEqual(
      message.tool_calls?.map(call => call.type === 'function' && JSON.parse(call.function.arguments)),
      commands,
    )
    messages.push(message)
    for (const { id } of message.tool_calls ?? [])
      messages.push({ role: 'tool', tool_call_id: id, content: `result of ${id}` })
    const second = await client.chat.completions.create({ ...request, messages })
    assert.equal(second.choices[0]?.message.content, 'Done.')
    for (const { id } of message.tool_calls ?? []) assert.ok(sentTo(protocol).includes(`result of ${id}`))
    if (protocol === 'openai-chat') assertVerbatim(protocol, '/v1/chat/completions')
  })

  test(named('a response gives text, status and usage'), async () => {
    const request = { model, instructions: 'Be brief.', input: saying({ text: 'Hello.' }) }
    const answer = await client.responses.create(request)
    if (protocol === 'openai-responses') assertVerbatim(protocol, '/v1/responses')
    assert.deepEqual([answer.output_text, answer.status, answer.object], ['Hello.', 'completed', 'response'])
    assert.deepEqual([answer.usage?.input_tokens, answer.usage?.output_tokens], [25, 10])
    assert.match(sentTo(protocol), /Be brief\./)
    const cut = await client.responses.create({ model, input: saying({ text: 'Hel', stopReason: 'max_tokens' }) })
    assert.deepEqual([cut.status, cut.incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
  })

  test(named('a streamed response continues with thinking, calls and results as items of the input'), async () => {
    const input: ResponseInputItem[] = said(turn)
    const request = {
      model,
      tools: responseTools,
      store: false,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'high' as const, summary: 'auto' as const },
    }
    const stream = client.responses.stream({ ...request, input })
    const deltas: string[] = []
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta))
    const { output } = await stream.finalResponse()
    if (protocol === 'openai-responses') assertVerbatim(protocol, '/v1/responses')
    assert.equal(deltas.join(''), 'Looking.')
    const [reasoning, , ...called] = output
    assert.deepEqual(reasoning?.type === 'reasoning' && reasoning.summary, [{ type: 'summary_text', text: thought }])
    assert.deepEqual(
      called.map(item => item.type === 'function_call' && JSON.parse(item.arguments)),
      commands,
    )
    input.push(...(output as ResponseInputItem[]))
    for (const item of called)
      if (item.type === 'function_call')
        input.push({ type: 'function_call_output', call_id: item.call_id, output: `result of ${item.call_id}` })
    const answer = await client.responses.create({ ...request, input })
    assert.equal(answer.output_text, 'Done.')
    assert.equal(sentTo(protocol).match(/result of /g)?.length, 2)
    if (protocol === 'openai-responses') assertVerbatim(protocol, '/v1/responses')
    // Chat Completions has no place for the state of thinking.
    if (protocol !== 'openai-chat') assert.match(sentTo(protocol), /"sig_\d+"/, 'the signature is back as it came')
  })

  test(named('an error and a broken stream are errors of the SDK, with the upstream’s words'), async () => {
    const refused = saying({ status: 400, error: 'That cannot be answered' })
    const broken = saying({ text: 'A text that is too long to be over by then, by far.', breakAtFrame: 5 })
    const refusals = [
      () => client.chat.completions.create({ model, messages: said(refused) }),
      () => client.responses.create({ model, input: refused, stream: true }),
    ]
    for (const call of refusals) {
      await assert.rejects(call, error => {
        assert.ok(error instanceof OpenAI.BadRequestError)
        assert.equal(error.message, '400 That cannot be answered')
        return true
      })
    }
    const chat = await client.chat.completions.create({ model, messages: said(broken), stream: true })
    await assert.rejects(Array.fromAsync(chat), OpenAI.APIError)
  })
}

for (const [form, asked] of [
  // Left to itself the SDK asks for base64, and decodes it.
  ['base64', {}],
  ['float', { encoding_format: 'float' as const }],
] as const) {
  test(`openai 7.55.0: embeddings of an upstream of OpenAI’s format, as ${form}`, async () => {
    const model = aliasOf('openai-chat')
    const { data, usage } = await client.embeddings.create({ model, input: ['one', 'two'], ...asked })
    assert.deepEqual(
      data.map(({ embedding }) => [...embedding]),
      [
        [0, 0.5, -0.25],
        [1, 0.5, -0.25],
      ],
    )
    assert.equal(usage.prompt_tokens, 25)
    assertVerbatim('openai-chat', '/v1/embeddings')
  })
}

for (const protocol of ['anthropic-messages', 'bedrock-converse'] as const) {
  test(`openai 7.55.0 over ${protocol}: embeddings are rejected by name of the model`, async () => {
    const call = client.embeddings.create({ model: aliasOf(protocol), input: 'one' })
    await assert.rejects(
      call,
      error => error instanceof OpenAI.BadRequestError && /does not support \/v1\/embeddings/.test(error.message),
    )
  })
}
