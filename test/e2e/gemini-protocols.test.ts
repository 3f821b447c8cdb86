import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { type Answer, type Content, genai, type Part } from '../support/upstream/genai.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, upstreamModelOf } from '../support/upstream/spoken-protocols.ts'

const { service, upstreams } = await startEveryProtocol()
const { GoogleGenAI, ApiError } = await genai()
const clientOf = (apiKey: string, more: object = {}) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: service.url, ...more } })
const { models, chats } = clientOf(service.key)

const user = (...parts: Part[]): Content => ({ role: 'user', parts })
const calls = [...(bash('ls').tool_calls ?? []), ...(bash('pwd').tool_calls ?? [])]
const turn = saying({ thinking: 'I should look around.', text: 'Looking.', tool_calls: calls }, { text: 'Done.' })
const parameters = { type: 'OBJECT', properties: { command: { type: 'STRING' } }, required: ['command'] }
const tools = [{ functionDeclarations: [{ name: 'bash', description: 'Runs a command', parameters }] }]
const thinking = { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' } }

const lastTo = (protocol: SpokenProtocol) =>
  upstreams[protocol].requests.at(-1) ?? assert.fail('the upstream was called')
const sentTo = (protocol: SpokenProtocol) => lastTo(protocol).rawBody.toString()
const partsOf = ({ candidates }: Answer): readonly Part[] => candidates?.[0]?.content?.parts ?? []

/** What the model thought goes back along with the results, in the form of its protocol. */
const thoughtsIn = (request: string): boolean => /sig_\d+|"reasoning_content"|thought_toolu/.test(request)

for (const protocol of everyProtocol) {
  const model = aliasOf(protocol)
  const named = (guarantee: string) => `@google/genai 3.1.0 over ${protocol}: ${guarantee}`

  test(named('an answer has text, finish reason, usage, and who gave it'), async () => {
    const usage = { cache_read_input_tokens: 100 }
    const answer = await models.generateContent({
      model,
      contents: saying({ text: 'Hi there.', usage }),
      config: { systemInstruction: 'Be brief.', temperature: 0.5, maxOutputTokens: 4_000 },
    })
    assert.deepEqual([answer.text, answer.candidates?.[0]?.finishReason], ['Hi there.', 'STOP'])
    const { promptTokenCount, cachedContentTokenCount, candidatesTokenCount } = answer.usageMetadata ?? {}
    assert.deepEqual([promptTokenCount, cachedContentTokenCount, candidatesTokenCount], [125, 100, 10])
    assert.ok(answer.modelVersion)
    assert.ok(answer.responseId)
    assert.match(sentTo(protocol), /Be brief\./)
    const cut = await models.generateContent({ model, contents: saying({ text: 'Hi', stopReason: 'max_tokens' }) })
    assert.equal(cut.candidates?.[0]?.finishReason, 'MAX_TOKENS')
  })

  test(named('a streamed answer comes in pieces, with usage and finish reason at its end'), async () => {
    const contents = saying({ text: 'One two three four five six.' })
    const chunks = await Array.fromAsync(await models.generateContentStream({ model, contents }))
    assert.equal(chunks.map(({ text = '' }) => text).join(''), 'One two three four five six.')
    assert.ok(chunks.filter(({ text }) => text).length > 1)
    const last = chunks.at(-1)
    assert.deepEqual([last?.candidates?.[0]?.finishReason, last?.usageMetadata?.['totalTokenCount']], ['STOP', 35])
  })

  test(named('a turn with two calls continues with their results and with what was thought'), async () => {
    const request = { model, config: { tools, ...thinking } }
    const first = await models.generateContent({ ...request, contents: [user({ text: turn })] })
    assert.deepEqual(
      first.functionCalls?.map(({ name, args }) => [name, args]),
      [
        ['bash', { command: 'ls' }],
        ['bash', { command: 'pwd' }],
      ],
    )
    assert.equal(first.text, 'Looking.')
    assert.ok(partsOf(first).some(({ thought, text }) => thought && text === 'I should look around.'))
    // Clients may drop the thoughts, and the ids of calls.
    const kept = partsOf(first).filter(({ thought }) => !thought)
    const bare = kept.map(({ functionCall: call, ...part }) =>
      call ? { ...part, functionCall: { name: call.name, args: call.args ?? {} } } : part,
    )
    for (const [parts, hasIds] of [
      [kept, true],
      [bare, protocol === 'gemini'],
    ] as const) {
      const results = (first.functionCalls ?? []).map(({ id, name }, at) => ({
        functionResponse: { ...(hasIds && id !== undefined && { id }), name, response: { output: `result ${at}` } },
      }))
      const contents = [user({ text: turn }), { role: 'model', parts }, user(...results)]
      const second = await models.generateContent({ ...request, contents })
      assert.equal(second.text, 'Done.')
      const sent = sentTo(protocol)
      assert.ok(sent.indexOf('result 0') > 0 && sent.indexOf('result 1') > sent.indexOf('result 0'), sent)
      assert.ok(thoughtsIn(sent), sent)
    }
  })

  test(named('a chat of the SDK keeps its own history over streams'), async () => {
    const chat = chats.create({ model, config: { tools, ...thinking } })
    const first = await Array.fromAsync(await chat.sendMessageStream({ message: turn }))
    const called = first.flatMap(({ functionCalls }) => functionCalls ?? [])
    assert.equal(called.length, 2)
    const results = called.map(({ id, name }) => ({
      functionResponse: { ...(id !== undefined && { id }), name, response: { output: 'ran' } },
    }))
    const second = await Array.fromAsync(await chat.sendMessageStream({ message: results }))
    assert.equal(second.map(({ text = '' }) => text).join(''), 'Done.')
    assert.ok(thoughtsIn(sentTo(protocol)), sentTo(protocol))
  })

  test(named('pictures, documents and schemas of answers arrive'), async () => {
    await models.generateContent({
      model,
      contents: [
        user(
          { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
          { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0xLjQK' } },
          { text: 'What is this?' },
        ),
      ],
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'OBJECT', properties: { answer: { type: 'STRING', nullable: true } } },
      },
    })
    const sent = sentTo(protocol)
    for (const part of ['iVBORw0KGgo=', 'JVBERi0xLjQK', 'What is this?']) assert.ok(sent.includes(part), part)
    assert.match(sent, /answer/)
  })

  test(named('tokens are counted'), async () => {
    const { totalTokens } = await models.countTokens({ model, contents: 'How many are these?' })
    assert.ok(totalTokens > 0)
  })
}

test('what a Gemini client sends reaches a Gemini upstream byte for byte, and so does the answer', async () => {
  const body = JSON.stringify({ contents: [user({ text: saying({ text: 'Hi.' }) })], unknown_field: 1.0 }, undefined, 1)
  const path = `/v1beta/models/${aliasOf('gemini')}:streamGenerateContent`
  const headers = { 'content-type': 'application/json', 'x-goog-api-key': service.key }
  const ask = (query: string) => fetch(`${service.url}${path}${query}`, { method: 'POST', headers, body })
  const answer = await (await ask('?alt=sse')).text()
  assert.equal(sentTo('gemini'), body)
  assert.equal(lastTo('gemini').url, `/v1beta/models/${upstreamModelOf('gemini')}:streamGenerateContent?alt=sse`)
  assert.ok(!JSON.stringify(lastTo('gemini').headers).includes(service.key), 'our key never leaves')
  const array = (await (await ask('')).json()) as unknown[]
  const frames = answer.trim().split('\n\n')
  assert.equal(array.length, frames.length, 'without alt=sse the chunks are one JSON array')
})

test('thoughts of another provider do not reach Gemini, which would refuse them', async () => {
  const config = { tools, ...thinking }
  const first = await models.generateContent({
    model: aliasOf('anthropic-messages'),
    contents: [user({ text: turn })],
    config,
  })
  const [called] = first.functionCalls ?? []
  const results = [{ functionResponse: { id: called?.id ?? '', name: 'bash', response: { output: 'ran' } } }]
  const contents = [user({ text: turn }), { role: 'model', parts: partsOf(first) }, user(...results)]
  const second = await models.generateContent({ model: aliasOf('gemini'), contents, config })
  assert.equal(second.text, 'Done.')
  assert.match(sentTo('gemini'), /"thoughtSignature":"skip_thought_signature_validator"/)
  // And a signature of Gemini's goes to no other provider.
  const back = { model: aliasOf('anthropic-messages'), config }
  const own = { role: 'model', parts: [{ text: 'Hm.', thoughtSignature: 'Z2VtaW5p' }] }
  await models.generateContent({ ...back, contents: [user({ text: 'hi' }), own, user({ text: 'go on' })] })
  assert.ok(!sentTo('anthropic-messages').includes('Z2VtaW5p'))
})

const statusOf = (call: Promise<unknown>) =>
  call.then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? [error.status, error.message] : assert.fail(String(error))),
  )

test('a key is held to its models, which are the ones that it is shown', async () => {
  const model = aliasOf('openai-chat')
  const { key = '' } = await holderOf(service, { models: [model] })
  const { models: few } = clientOf(key, { apiVersion: 'v1beta' })
  const shown = await Array.fromAsync(await few.list())
  assert.deepEqual(
    shown.map(({ name }) => name),
    [`models/${model}`],
  )
  assert.equal((await few.get({ model })).displayName, model)
  assert.equal((await few.generateContent({ model, contents: saying({ text: 'Hi.' }) })).text, 'Hi.')
  const other = aliasOf('gemini')
  const [status, message] = [await statusOf(few.generateContent({ model: other, contents: 'hi' }))].flat()
  assert.equal(status, 403)
  assert.match(String(message), /"status":"PERMISSION_DENIED"/)
  assert.equal([await statusOf(few.get({ model: other }))].flat()[0], 404)
})

test('failures are the errors of the SDK, with their status, also in a stream', async () => {
  const model = aliasOf('anthropic-messages')
  const stranger = clientOf('sk-test-wrong-key-0123456789abcdef').models
  assert.equal([await statusOf(stranger.generateContent({ model, contents: 'hi' }))].flat()[0], 401)
  const busy = { model, contents: saying({ status: 429, error: 'Slow down' }) }
  const [status, message] = [await statusOf(models.generateContentStream(busy))].flat()
  assert.equal(status, 429)
  assert.match(String(message), /"message":"Slow down","status":"RESOURCE_EXHAUSTED"/)
  const broken = { model, contents: saying({ text: 'One two three four five six seven.', breakAtFrame: 5 }) }
  const stream = await models.generateContentStream(broken)
  await assert.rejects(Array.fromAsync(stream), error => error instanceof ApiError && error.status >= 500)
})
