import assert from 'node:assert/strict'
import { test } from 'node:test'
import AnthropicV1 from '@anthropic-ai/sdk'
import AnthropicV0 from '@anthropic-ai/sdk-0'
import { createOpencodeClient } from '@opencode-ai/sdk'
import { eventually } from '../support/service/eventually.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const names = Array.from({ length: 45 }, (_, at) => `model-${String(at).padStart(2, '0')}`)
const { service, upstream } = await startScriptedService({ models: names })
const { url: baseURL, key: apiKey } = service
const wrongKey = 'sk-test-wrong-key-0123456789abcdef'
const [model = ''] = names

const hello = [{ role: 'user' as const, content: 'hello' }]
const asked = (content: string) => ({ model, max_tokens: 100, messages: [{ role: 'user' as const, content }] })

for (const [version, Anthropic] of [
  ['1.11.0', AnthropicV1],
  ['0.137.0', AnthropicV0 as unknown as typeof AnthropicV1],
] as const) {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 })
  const named = (guarantee: string) => `@anthropic-ai/sdk ${version}: ${guarantee}`

  test(named('messages.create gives the message of the upstream'), async () => {
    const message = await client.messages.create(asked(saying({ text: 'Hi there.' })))
    assert.deepEqual(message.content, [{ type: 'text', text: 'Hi there.' }])
    assert.deepEqual([message.role, message.model, message.stop_reason], ['assistant', model, 'end_turn'])
    assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [25, 10])
    assert.match(message._request_id ?? '', /^req_/)
    const { headers } = upstream.requests.at(-1) ?? {}
    assert.equal(headers?.['x-api-key'], 'sk-upstream')
    assert.ok(!JSON.stringify(headers).includes(apiKey), 'our key never leaves')
  })

  test(named('messages.stream gives each text, the tool call, and the final message'), async () => {
    const texts: string[] = []
    const stream = client.messages.stream(asked(saying({ text: 'One two three four.', ...bash('ls') })))
    stream.on('text', text => texts.push(text))
    const final = await stream.finalMessage()
    assert.equal(texts.join(''), 'One two three four.')
    assert.deepEqual(
      final.content.map(({ type }) => type),
      ['text', 'tool_use'],
    )
    const [, call] = final.content
    assert.deepEqual(call?.type === 'tool_use' && call.input, { command: 'ls' })
    assert.equal(final.stop_reason, 'tool_use')
  })

  test(named('the demo model answers and streams without any upstream'), async () => {
    const before = upstream.requests.length
    const message = await client.messages.create({ model: 'demo', max_tokens: 100, messages: hello })
    assert.match(JSON.stringify(message.content), /demo model/)
    const text = await client.messages.stream({ model: 'demo', max_tokens: 100, messages: hello }).finalText()
    assert.match(text, /demo model/)
    assert.equal(upstream.requests.length, before)
  })

  test(named('messages.countTokens counts'), async () => {
    assert.deepEqual(await client.messages.countTokens({ model, messages: hello }), { input_tokens: 42 })
    const { input_tokens } = await client.messages.countTokens({ model: 'demo', messages: hello })
    assert.ok(input_tokens > 0)
  })

  test(named('models.list pages by itself, and models.retrieve finds one'), async () => {
    const seen: string[] = []
    for await (const { id, type } of client.models.list()) {
      assert.equal(type, 'model')
      seen.push(id)
    }
    assert.deepEqual(seen, [...names, 'demo'])
    const page = await client.models.list({ limit: 10, after_id: names[9] ?? '' })
    assert.deepEqual(
      page.data.map(({ id }) => id),
      names.slice(10, 20),
    )
    assert.equal(page.has_more, true)
    assert.equal((await client.models.retrieve('demo')).id, 'demo')
  })

  test(named('failures are the classes of the SDK, with our text and request id'), async () => {
    const { APIError, AuthenticationError, BadRequestError, NotFoundError } = Anthropic
    const stranger = new Anthropic({ baseURL, apiKey: wrongKey, maxRetries: 0 })
    await assert.rejects(stranger.messages.create(asked('hello')), AuthenticationError)
    await assert.rejects(stranger.models.list(), AuthenticationError)
    const unknown = { ...asked('hello'), model: 'no-such-model' }
    for (const call of [
      () => client.messages.create(unknown),
      () => client.messages.create({ ...unknown, stream: true }),
    ]) {
      await assert.rejects(call, error => {
        assert.ok(error instanceof NotFoundError)
        assert.match(error.message, /not_found_error/)
        assert.match(error.message, /no-such-model/)
        assert.match(String(error.headers?.get('request-id')), /^req_/)
        return true
      })
    }
    await assert.rejects(client.messages.create({ ...asked('hello'), max_tokens: 0 }), BadRequestError)
    await assert.rejects(client.models.retrieve('no-such-model'), NotFoundError)
    const refusal = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const overloaded = saying({ status: 529, body: JSON.stringify(refusal) })
    await assert.rejects(client.messages.create(asked(overloaded)), error => {
      assert.ok(error instanceof APIError)
      assert.equal(error.status, 529)
      assert.deepEqual(error.error, refusal)
      return true
    })
  })
}

test('@opencode-ai/sdk: create, promptAsync, list, messages, prompt, abort, delete', async () => {
  const client = createOpencodeClient({
    baseUrl: baseURL,
    headers: { authorization: `Bearer ${apiKey}` },
    directory: '/x',
  })
  const created = await client.session.create({ body: { title: 'from opencode' } })
  assert.equal(created.response.status, 200)
  const id = created.data?.id ?? ''
  assert.equal(created.data?.title, 'from opencode')
  const path = { id }
  const parts = (text: string) => [{ type: 'text' as const, text }]
  const chosen = { providerID: 'switchyard', modelID: model }

  const queued = await client.session.promptAsync({
    path,
    body: { model: chosen, parts: parts(saying({ text: 'Hello.' })) },
  })
  assert.deepEqual([queued.response.status, queued.error], [204, undefined])
  const messages = await eventually(async () => {
    const { data = [] } = await client.session.messages({ path })
    const { info } = data.at(-1) ?? {}
    return info?.role === 'assistant' && info.time.completed !== undefined && data
  })
  assert.deepEqual(
    messages.map(({ info }) => info.role),
    ['user', 'assistant'],
  )
  assert.deepEqual(
    messages[1]?.parts.map(part => part.type === 'text' && part.text),
    ['Hello.'],
  )

  const { data: answer } = await client.session.prompt({
    path,
    body: { model: chosen, parts: parts(saying({ text: 'Again.' })) },
  })
  assert.deepEqual(
    answer?.parts.map(part => part.type === 'text' && part.text),
    ['Again.'],
  )
  assert.ok((await client.session.list()).data?.some(session => session.id === id))
  assert.equal((await client.session.get({ path })).data?.id, id)

  upstream.hold()
  const before = upstream.requests.length
  await client.session.promptAsync({ path, body: { model: chosen, parts: parts('held') } })
  await upstream.received(before + 1)
  assert.equal((await client.session.abort({ path })).data, true)
  await eventually(async () => {
    const { data = [] } = await client.session.messages({ path })
    const { info } = data.at(-1) ?? {}
    return info?.role === 'assistant' && info.error?.name === 'MessageAbortedError'
  })
  upstream.release()

  assert.equal((await client.session.delete({ path })).data, true)
  const missing = await client.session.get({ path })
  assert.equal(missing.response.status, 404)
  const late = await client.session.promptAsync({ path, body: { model: chosen, parts: parts('late') } })
  assert.equal(late.response.status, 404)
  const stranger = createOpencodeClient({ baseUrl: baseURL, headers: { authorization: `Bearer ${wrongKey}` } })
  assert.equal((await stranger.session.list()).response.status, 401)
})
