import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { simpleRequest, streamed } from '../../../../test/support/gateway/gateway-pair.ts'
import { jsonAnswer, startByteServer, streamHead } from '../../../../test/support/upstream/byte-server.ts'
import type { CallKind } from '../core/call.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { openAiChat, openAiResponses } from './openai.ts'
import type { PassthroughFormat } from './passthrough-format.ts'

/** Passthrough to a server that calls `answer` for each connection. */
async function passthroughTo(
  answer: (socket: Socket) => unknown,
  { format = anthropicMessages as PassthroughFormat, bufferMs = 2_000, pingAfterMs = 15_000 } = {},
) {
  const server = await startByteServer(answer)
  const probe = probeMode({ format, deployment: deploymentAt(server.url), bufferMs, pingAfterMs })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  return probe
}

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const start = frame('message_start', { message: { usage: { input_tokens: 3, output_tokens: 1 } } })
const ping = frame('ping')
const block = frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const failed = (message: string) => frame('error', { error: { type: 'overloaded_error', message } })
const stop = frame('message_stop')
const key = 'sk-provider-canary-0001'

const chunk = (fields: object) => `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...fields })}\n\n`
const role = chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
const created = frame('response.created', { response: { id: 'resp_1' } })

const early: readonly (readonly [string, CallKind, PassthroughFormat, string, RegExp])[] = [
  [
    'Anthropic',
    'messages',
    anthropicMessages,
    start + ping + failed(`Overloaded ${key}`),
    /"type":"overloaded_error","message":"Overloaded \[secret\]"/,
  ],
  [
    'Chat',
    'chat',
    openAiChat,
    role + chunk({ error: { message: `Overloaded ${key}`, code: 503 } }),
    /^\{"error":\{"message":"Overloaded \[secret\]","type":"server_error"/,
  ],
  [
    'Chat, finish reason',
    'chat',
    openAiChat,
    role +
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { message: `Overloaded ${key}` } }] }) +
      'data: [DONE]\n\n',
    /^\{"error":\{"message":"Overloaded \[secret\]"/,
  ],
  [
    'Responses',
    'responses',
    openAiResponses,
    created + frame('error', { message: `Overloaded ${key}`, code: 'server_error' }),
    /^\{"error":\{"message":"Overloaded \[secret\]"/,
  ],
  [
    'Responses, failed',
    'responses',
    openAiResponses,
    created +
      frame('response.failed', {
        response: { status: 'failed', error: { code: 'server_error', message: `Overloaded ${key}` } },
      }),
    /Overloaded \[secret\]/,
  ],
]

for (const [name, kind, format, body, expected] of early) {
  test(`E4: ${name}: an error event before any content is an upstream error with status 529, and the client receives nothing`, async () => {
    const { call } = await passthroughTo(socket => socket.end(streamHead() + body), { format })
    const told = await call(kind, kind === 'responses' ? { model: 'test-model', input: 'hi', stream: true } : streamed)
    assert.equal(told.heads + told.ends, 0)
    assert.ok(told.ending?.outcome === 'refused')
    assert.equal(told.ending.status, 529)
    assert.match(told.ending.body.toString(), expected)
    assert.equal(told.ending.headers['content-type'], 'application/json')
  })
}

test('E4: a whole chat whose choice ended with an error is an upstream error with status 529', async () => {
  const answer = (finish_reason: string) =>
    JSON.stringify({
      choices: [{ index: 0, message: { content: '' }, finish_reason, error: { message: 'Overloaded' } }],
    })
  for (const [reason, outcome] of [
    ['error', 'refused'],
    ['stop', 'completed'],
    ['other', 'completed'],
  ] as const) {
    const { call } = await passthroughTo(socket => socket.end(jsonAnswer(answer(reason))), { format: openAiChat })
    const { ending } = await call('chat', simpleRequest)
    assert.equal(ending?.outcome, outcome, reason)
    if (ending?.outcome === 'refused') assert.equal(ending.status, 529)
  }
})

test('E5: a chat stream that ends with the finish reason of an error is relayed unchanged, and fails', async () => {
  const text = (delta: object, finish_reason: string | null) => chunk({ choices: [{ index: 0, delta, finish_reason }] })
  const body = `${role}${text({ content: 'Hel' }, null)}${text({}, 'error')}data: [DONE]\n\n`
  const { call } = await passthroughTo(socket => socket.end(streamHead() + body), { format: openAiChat })
  const relayed = await call('chat', streamed)
  assert.deepEqual([relayed.ending?.outcome, relayed.text], ['failed', body])
})

test('E4: an early error about the prompt length has the reason context_window', async () => {
  const format = openAiResponses
  const error = { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' }
  const body = created + frame('response.failed', { response: { status: 'failed', error } })
  const { call } = await passthroughTo(socket => socket.end(streamHead() + body), { format })
  const { ending } = await call('responses', { model: 'test-model', input: 'hi', stream: true })
  assert.equal(ending?.outcome === 'refused' && ending.reason, 'context_window')
})

for (const [how, end] of [
  ['ends', (socket: Socket) => socket.end()],
  ['is reset', (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  test(`E4: a stream that ${how} before any content fails the call, and the client receives nothing`, async () => {
    const { call } = await passthroughTo(socket => socket.write(streamHead() + start + ping, () => end(socket)))
    const { error, heads, ends } = await call('messages', streamed)
    assert.equal(error?.code, 'upstream_unreachable')
    assert.equal(heads + ends, 0)
  })
}

test('E5: an error after content is relayed unchanged and ends the stream', async () => {
  const body = start + block + failed('Overloaded')
  const { call } = await passthroughTo(socket => socket.end(streamHead() + body))
  const { ending, text, ends } = await call('messages', streamed)
  assert.deepEqual([ending?.outcome, text, ends], ['failed', body, 1])
})

test('buffered bytes are sent complete and in order with the first content', async () => {
  const parts = [
    `: hello\n\n${start}`,
    ping,
    block.slice(0, 30),
    block.slice(30),
    `${frame('content_block_stop')}${stop}`,
  ]
  const { call } = await passthroughTo(async socket => {
    socket.write(streamHead())
    for (const part of parts) await new Promise(done => socket.write(part, () => setImmediate(done)))
    socket.end()
  })
  const { ending, text } = await call('messages', streamed)
  assert.deepEqual([ending?.outcome, text], ['completed', parts.join('')])
})

test('content is sent at once, before the hold-back window ends', async () => {
  const release = Promise.withResolvers<void>()
  const { call } = await passthroughTo(
    async socket => {
      socket.write(streamHead() + start + block)
      await release.promise
      socket.end(stop)
    },
    { bufferMs: 60_000 },
  )
  const onData = (text: string) => {
    if (text.includes('content_block_start')) release.resolve()
  }
  assert.equal((await call('messages', streamed, { onData })).ending?.outcome, 'completed')
})

test('a stream without content is sent after the hold-back window, with pings only after message_start', async () => {
  const release = Promise.withResolvers<void>()
  const { call } = await passthroughTo(
    async socket => {
      socket.write(streamHead() + start)
      await release.promise
      socket.end(failed('late'))
    },
    { bufferMs: 20, pingAfterMs: 10 },
  )
  const onData = (text: string) => {
    if (text.split('event: ping').length > 3) release.resolve()
  }
  const { text, status, ending } = await call('messages', streamed, { onData })
  assert.ok(text.startsWith(start) && text.endsWith(failed('late')))
  assert.deepEqual([status, ending?.outcome], [200, 'failed'])
})

test('a stream is sent after 64 KB without content', async () => {
  const release = Promise.withResolvers<void>()
  const big = `: ${'x'.repeat(40_000)}\n\n`
  const { call } = await passthroughTo(
    async socket => {
      socket.write(streamHead() + big + big)
      await release.promise
      socket.end(start + block + stop)
    },
    { bufferMs: 60_000 },
  )
  const { ending } = await call('messages', streamed, { onData: () => release.resolve() })
  assert.equal(ending?.outcome, 'completed')
})

test('a client that disconnects while its stream is buffered is booked as aborted, without a status', async () => {
  const { call } = await passthroughTo(socket => socket.write(streamHead() + start))
  const gone = new AbortController()
  setTimeout(() => gone.abort(), 30)
  const { ending, heads } = await call('messages', streamed, { signal: gone.signal })
  assert.deepEqual([ending?.outcome, ending?.status, heads], ['aborted', undefined, 0])
})

const answers: readonly (readonly [string, object, string, number])[] = [
  [
    'an error in the body of a streamed call',
    streamed,
    jsonAnswer('{"type":"error","error":{"type":"api_error","message":"no"}}'),
    529,
  ],
  ['an error in the body of a call without a stream', simpleRequest, jsonAnswer('{"error":{"message":"no"}}'), 529],
  ['a whole response to a streamed call', streamed, jsonAnswer('{"type":"message","content":[]}'), 502],
  ['an HTML page', simpleRequest, `${streamHead('text/html')}<html></html>`, 502],
  ['a truncated response', simpleRequest, `${streamHead('application/json')}{"type":"message","content":[`, 502],
]

for (const [what, request, bytes, status] of answers) {
  test(`status 200 with ${what} becomes an upstream error with status ${status}`, async () => {
    const { call } = await passthroughTo(socket => socket.end(bytes))
    const { ending, heads } = await call('messages', request)
    assert.deepEqual([ending?.outcome, ending?.status, heads], ['refused', status, 0])
    assert.match(ending?.outcome === 'refused' ? ending.body.toString() : '', /^\{"type":"error"/)
  })
}
