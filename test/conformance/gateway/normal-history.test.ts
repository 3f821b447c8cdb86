import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import { everyProtocol, type SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { afterCall, imageBlock, pixel, startPair, tool, translated } from './setup.ts'

const degradedOf = (response: Response): string => response.headers.get('x-switchyard-degraded') ?? ''
const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const call = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'look', input })
const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const hi = { role: 'user', content: 'hi' }

const image = (mediaType: string, data: string) => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
})
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64')
const pictures = [
  ['image/jpeg', pixel, 'png'],
  ['image/png', base64('\xff\xd8\xff\xe0 and so on, and on'), 'jpeg'],
  ['image/png', base64('GIF89a and so on, and on'), 'gif'],
  ['image/png', base64('RIFF\x01\x02\x03\x04WEBPVP8 and on'), 'webp'],
  ['image/jpg', base64('what no model reads'), 'jpeg'],
] as const
/** Bedrock has the kind alone. */
const typeNamed = (kind: string) => new RegExp(`image/${kind}|"format":"${kind}"`)

for (const protocol of translated) {
  test(`F8, ${protocol}: the declared type of an image is that of its bytes, also in a tool result`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    for (const [declared, data, kind] of pictures) {
      const inUser = await post({ messages: [user({ type: 'text', text: 'see' }, image(declared, data))] })
      assert.match(sentText(), typeNamed(kind))
      assert.match(degradedOf(inUser), /messages\.0\.content\.1\.source=media_type_corrected/)
      const inResult = await post(afterCall([image(declared, data)]))
      assert.match(sentText(), typeNamed(kind))
      assert.match(degradedOf(inResult), /messages\.2\.content\.0\.content\.0\.source=media_type_corrected/)
    }
    assert.doesNotMatch(degradedOf(await post({ messages: [user(imageBlock)] })), /media_type/)
  })

  test(`F10, ${protocol}: calls in the history of a request without tools are valid, and nothing is offered`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const { messages } = afterCall('what was seen')
    const response = await post({ messages })
    assert.equal(response.status, 200)
    assert.ok(sentText().includes('what was seen'))
    const isRefused = protocol === 'bedrock-converse'
    assert.equal(/"toolConfig":\{"tools":\[\{"toolSpec":\{"name":"look"/.test(sentText()), isRefused)
    assert.equal(degradedOf(response).includes('tools=declared_from_history'), isRefused)
    if (isRefused) assert.match(sentText(), /"tool_choice":\{"type":"none"\}/)
  })

  test(`F10, ${protocol}: a result without its call is text behind the results that have one`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const messages = [hi, assistant(call('toolu_1')), user(result('toolu_9', 'from before'), result('toolu_1', 'seen'))]
    const response = await post({ tools: [tool], messages })
    assert.match(degradedOf(response), /messages\.2\.content\.0=sent_as_text/)
    assert.match(sentText(), /Result of tool call toolu_9:\\nfrom before/)
    assert.ok(sentText().indexOf('seen') < sentText().indexOf('from before'))
    assert.doesNotMatch(sentText(), /"(tool_call_id|call_id|toolUseId|id)":"toolu_9"/)
  })

  test(`F10, ${protocol}: an image in a result without its call reaches the model`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    await post({ messages: [user(result('toolu_9', [{ type: 'text', text: 'a picture' }, imageBlock]))] })
    assert.ok(sentText().includes('a picture') && sentText().includes(pixel))
  })

  test(`F10, ${protocol}: calls with one id become different ones, each with its own result`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const messages = [
      hi,
      assistant(call('call_0', { what: 'first' })),
      user(result('call_0', 'saw first')),
      assistant(call('call_0', { what: 'second' }), call('call_0', { what: 'third' })),
      user(result('call_0', 'saw second'), result('call_0', 'saw third')),
    ]
    const response = await post({ tools: [tool], messages })
    assert.match(
      degradedOf(response),
      /messages\.3\.content\.0\.id=made_unique, messages\.3\.content\.1\.id=made_unique/,
    )
    const ids = [...sentText().matchAll(/"(?:tool_call_id|call_id|toolUseId|id)":"(call_0[^"]*)"/g)].map(([, id]) => id)
    assert.deepEqual(ids, ['call_0', 'call_0', 'call_0_2', 'call_0_3', 'call_0_2', 'call_0_3'])
  })
}

/** Where each protocol puts Claude: an upstream of this name checks what a client left behind an answer. */
const claudeNames: Partial<Record<SpokenProtocol, string>> = {
  'openai-chat': 'anthropic/claude-sonnet-5',
  'bedrock-converse': 'anthropic.claude-sonnet-5-v1:0',
}
for (const [protocol, upstreamModel] of Object.entries(claudeNames) as [(typeof translated)[number], string][]) {
  test(`F10, ${protocol}: blanks at the end of a prefill do not reach Claude`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}], changes: { upstreamModel } })
    for (const content of ['The answer is \n', [{ type: 'text', text: 'The answer is \n' }]]) {
      const response = await post({ messages: [hi, { role: 'assistant', content }] })
      assert.match(degradedOf(response), /messages\.1\.content=trimmed/)
      assert.match(sentText(), /"The answer is"/)
    }
    await post({ messages: [hi, { role: 'assistant', content: ' ' }] })
    assert.doesNotMatch(sentText(), /"assistant"/)
  })
}

const chat = { path: '/v1/chat/completions' }
const chatCall = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }

test('F10, anthropic-messages: a Chat client with calls in its history and no tools is no error', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const messages = [
    hi,
    { role: 'assistant', content: null, tool_calls: [chatCall] },
    { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
  ]
  const response = await post({ messages }, chat)
  assert.match(degradedOf(response), /tools=declared_from_history/)
  const { tools, tool_choice: choice } = sent<{ tools: readonly { name: string }[]; tool_choice: object }>()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['look'],
  )
  assert.deepEqual(choice, { type: 'none' })
})

test('F10, anthropic-messages: a Chat client’s orphan results, doubled ids and blank prefill are corrected', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const called = { role: 'assistant', content: null, tool_calls: [chatCall] }
  const answered = (content: string) => ({ role: 'tool', tool_call_id: 'call_1', content })
  const orphan = { role: 'tool', tool_call_id: 'call_0', content: 'from before' }
  const prefill = { role: 'assistant', content: 'So: ' }
  await post({ messages: [hi, orphan, called, answered('a'), called, answered('b'), prefill] }, chat)
  const { messages } = sent<{ messages: readonly { content: readonly Record<string, unknown>[] }[] }>()
  const blocks = messages.flatMap(({ content }) => content)
  assert.deepEqual(
    blocks.flatMap(({ type, id, tool_use_id: callId }) => (String(type).startsWith('tool') ? [id ?? callId] : [])),
    ['call_1', 'call_1', 'call_1_2', 'call_1_2'],
  )
  assert.ok(blocks.some(({ text }) => String(text).includes('from before')))
  assert.equal(blocks.at(-2)?.['text'], 'So:')
})

for (const model of ['claude-sonnet-5', 'kimi-k3']) {
  test(`F10, anthropic-messages: unsigned thinking and ${model} behind its own address`, async t => {
    const { request: ask, sentText } = await startPair(t, 'anthropic-messages', {
      script: [{}],
      changes: { upstreamModel: model, provider: 'acme' },
    })
    const thought = { type: 'thinking', thinking: 'a thought of mine', signature: '' }
    await ask({ messages: [hi, assistant(thought, { type: 'text', text: 'so' }), hi] })
    assert.equal(sentText().includes('a thought of mine'), model === 'kimi-k3')
  })
}

for (const protocol of everyProtocol) {
  test(`F10, ${protocol}: unsigned thinking of another model is no error`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const thought = { type: 'thinking', thinking: 'a thought of mine', signature: '' }
    const messages = [hi, assistant(thought, { type: 'text', text: 'so' }), hi]
    const response = await post({ messages })
    assert.equal(response.status, 200)
    assert.match(degradedOf(response), /messages\.1\.content\.0=dropped/)
    assert.ok(!sentText().includes('a thought of mine'))
  })
}

const geminiChunk = (usageMetadata: object, finishReason?: string) =>
  dataFrame({
    candidates: [{ content: { parts: [{ text: 'a' }] }, ...(finishReason && { finishReason }) }],
    usageMetadata,
  })
const counted = { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 7, thoughtsTokenCount: 3 }
const forgotten = [
  ['zeroed', { promptTokenCount: 0, cachedContentTokenCount: 0, candidatesTokenCount: 9, thoughtsTokenCount: 0 }],
  ['left out', { candidatesTokenCount: 9 }],
] as const

for (const [how, last] of forgotten) {
  const frames = [geminiChunk(counted), geminiChunk(last, 'STOP')]
  const expected = { input_tokens: 60, cache_read_tokens: 40, output_tokens: 12, reasoning_tokens: 3 }

  for (const [format, path] of [
    ['Anthropic', '/v1/messages'],
    ['Chat', '/v1/chat/completions'],
    ['Gemini', '/v1beta/models/test-model:streamGenerateContent?alt=sse'],
  ] as const) {
    test(`F10, gemini: counts that its last chunk has ${how} count for a client of ${format}`, async t => {
      const { app } = await startPair(t, 'gemini', { script: [{ frames }] })
      const contents = [{ parts: [{ text: 'hi' }] }]
      const body =
        format === 'Gemini' ? { contents } : { model: 'test-model', stream: true, max_tokens: 9, messages: [hi] }
      await (await app.post(body, { path })).text()
      await app.bookedCalls(1)
      const { input_tokens, cache_read_tokens, output_tokens, reasoning_tokens } = app.booked[0] ?? {}
      assert.deepEqual({ input_tokens, cache_read_tokens, output_tokens, reasoning_tokens }, expected)
    })
  }
}
