import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

const { service, upstreams } = await startEveryProtocol()
const { url: baseURL, key: apiKey } = service

const bashTool = {
  name: 'bash',
  description: 'Runs a command',
  input_schema: { type: 'object' as const, properties: { command: { type: 'string' } }, required: ['command'] },
}

/** The last request that the upstream got, as text. */
const sentTo = (protocol: SpokenProtocol) => upstreams[protocol].requests.at(-1)?.rawBody.toString() ?? ''

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 })

  for (const protocol of everyProtocol) {
    const model = aliasOf(protocol)
    const asked = (content: string) => ({ model, max_tokens: 4000, messages: [{ role: 'user' as const, content }] })
    const named = (guarantee: string) => `@anthropic-ai/sdk ${version} over ${protocol}: ${guarantee}`

    test(named('create gives text, stop reason and usage'), async () => {
      const message = await client.messages.create({
        ...asked(saying({ text: 'Hi there.' })),
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      })
      assert.deepEqual(message.content, [{ type: 'text', text: 'Hi there.' }])
      assert.deepEqual([message.type, message.role, message.stop_reason], ['message', 'assistant', 'end_turn'])
      assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [25, 10])
      assert.match(message._request_id ?? '', /^req_/)
      assert.match(sentTo(protocol), /Be brief\./)
      assert.ok(!JSON.stringify(upstreams[protocol].requests.at(-1)?.headers).includes(apiKey), 'our key never leaves')
      const cut = await client.messages.create(asked(saying({ text: 'Hi', stopReason: 'max_tokens' })))
      assert.equal(cut.stop_reason, 'max_tokens')
    })

    test(named('stream gives each text, the calls, and the final message'), async () => {
      const texts: string[] = []
      const stream = client.messages.stream({
        ...asked(saying({ text: 'One two three four five six.', ...bash('echo "ü €"') })),
        tools: [bashTool],
      })
      stream.on('text', text => texts.push(text))
      const { content, stop_reason, usage } = await stream.finalMessage()
      assert.ok(texts.length > 1, 'the text comes in pieces')
      assert.equal(texts.join(''), 'One two three four five six.')
      assert.deepEqual(
        content.map(({ type }) => type),
        ['text', 'tool_use'],
      )
      const [, call] = content
      assert.deepEqual(call?.type === 'tool_use' && [call.name, call.input], ['bash', { command: 'echo "ü €"' }])
      assert.equal(stop_reason, 'tool_use')
      assert.equal(usage.output_tokens, 10)
    })

    test(named('a turn with thinking and two calls continues with their results'), async () => {
      const calls = [...(bash('ls').tool_calls ?? []), ...(bash('pwd').tool_calls ?? [])]
      const request = {
        ...asked(saying({ thinking: 'I should look around.', text: 'Looking.', tool_calls: calls }, { text: 'Done.' })),
        thinking: { type: 'adaptive' as const },
        tools: [bashTool],
      }
      const first = await client.messages.stream(request).finalMessage()
      assert.deepEqual(
        first.content.map(({ type }) => type),
        ['thinking', 'text', 'tool_use', 'tool_use'],
      )
      const [thinking] = first.content
      assert.equal(thinking?.type === 'thinking' && thinking.thinking, 'I should look around.')
      const results = first.content.flatMap(block =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `result of ${block.id}` }]
          : [],
      )
      const messages = [
        ...request.messages,
        { role: 'assistant' as const, content: first.content },
        { role: 'user' as const, content: results },
      ]
      const second = await client.messages.create({ ...request, messages })
      assert.deepEqual(second.content, [{ type: 'text', text: 'Done.' }])
      for (const { content } of results) assert.ok(sentTo(protocol).includes(content), 'each result arrives')
      // Chat Completions has no place for the state of thinking.
      if (protocol !== 'openai-chat') assert.match(sentTo(protocol), /"sig_\d+"/, 'the signature is back as it came')
    })

    test(named('countTokens counts, or marks an estimate'), async () => {
      const { messages } = asked('hello')
      const { data, response } = await client.messages.countTokens({ model, messages }).withResponse()
      const estimated = response.headers.get('x-switchyard-estimated')
      if (protocol === 'openai-chat') assert.equal(estimated, 'input_tokens')
      else assert.deepEqual([data.input_tokens, estimated], [42, null])
      assert.ok(data.input_tokens > 0)
    })

    test(named('an error and a broken stream are errors of the SDK, with the upstream’s words'), async () => {
      const { APIError, BadRequestError } = Anthropic
      const refused = asked(saying({ status: 400, error: 'That cannot be answered' }))
      for (const stream of [false, true]) {
        await assert.rejects(client.messages.create({ ...refused, stream }), error => {
          assert.ok(error instanceof BadRequestError)
          assert.match(error.message, /That cannot be answered/)
          assert.match(error.message, /invalid_request_error/)
          return true
        })
      }
      const broken = asked(saying({ text: 'A text that is too long to be over by then, by far.', breakAtFrame: 5 }))
      await assert.rejects(client.messages.stream(broken).finalMessage(), APIError)
    })
  }

  test(`@anthropic-ai/sdk ${version}: models.list names the model of every protocol`, async () => {
    const ids: string[] = []
    for await (const { id } of client.models.list()) ids.push(id)
    assert.deepEqual(ids.toSorted(), [...everyProtocol.map(aliasOf), 'demo'].toSorted())
  })
}
