import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { simpleRequest, streamed } from '../../../../test/support/gateway/gateway-pair.ts'
import { jsonAnswer, startByteServer, streamHead } from '../../../../test/support/upstream/byte-server.ts'
import type { CallKind, Outcome } from '../core/call.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { openAiChat } from './openai.ts'
import { StreamRelay } from './stream-relay.ts'

/** Calls an upstream that responds with these bytes, each part in a separate write. */
async function answered(
  parts: readonly (string | Buffer)[],
  { kind = 'messages' as CallKind, request = streamed as object } = {},
) {
  const server = await startByteServer(async socket => {
    for (const part of parts) await new Promise(done => socket.write(part, () => setImmediate(done)))
    socket.end()
  })
  const format = kind === 'chat' ? openAiChat : anthropicMessages
  const probe = probeMode({ format, deployment: deploymentAt(server.url) })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  const told = await probe.call(kind, request)
  return { ...told, outcome: told.ending as Outcome | undefined }
}

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const startWith = (usage: unknown) => frame('message_start', { message: { usage } })
const start = startWith({ input_tokens: 3, output_tokens: 1 })
const block = frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const endWith = (usage: unknown) =>
  frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage }) + frame('message_stop')
const end = endWith({ output_tokens: 7 })
const whole = start + block + end
const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
const chatWith = (usage: unknown) =>
  chunk({ choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }], usage })

test('F17: bytes that are not UTF-8 are relayed unchanged for any split', async () => {
  const odd = Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xc3, 0x28, 0xf0, 0x9f, 0x98, 0x0a, 0x0a])
  const emoji = Buffer.from('event: content_block_delta\ndata: {"type":"content_block_delta","d":"😀"}\n\n')
  const body = [start + block, odd, emoji.subarray(0, 66), emoji.subarray(66, 68), emoji.subarray(68), end].map(part =>
    Buffer.from(part),
  )
  const { bytes, outcome } = await answered([streamHead(), ...body])
  assert.ok(bytes.equals(Buffer.concat(body)))
  assert.deepEqual([outcome?.outcome, outcome?.usage.output_tokens], ['completed', 7])
})

for (const [name, lineEnd] of [
  ['CR', '\r'],
  ['CRLF', '\r\n'],
] as const) {
  test(`F17: lines that end with ${name} are read and relayed unchanged`, async () => {
    const body = whole.replaceAll('\n', lineEnd)
    const halves = [body.slice(0, 101), body.slice(101)]
    const { text, outcome } = await answered([streamHead(), ...halves])
    assert.equal(text, body)
    const { input_tokens: input, output_tokens: output } = outcome?.usage ?? {}
    assert.deepEqual([outcome?.outcome, outcome?.stopReason, input, output], ['completed', 'end_turn', 3, 7])
  })
}

test('F17: a line of 10 MB is relayed with bounded memory', () => {
  let sentBytes = 0
  const relay = new StreamRelay({
    format: anthropicMessages,
    sink: {
      head: () => undefined,
      data: chunk => {
        sentBytes += chunk.length
        return true
      },
      onDrain: () => undefined,
      end: () => undefined,
    },
    open: () => undefined,
    buffersDeclined: false,
    scrub: bytes => bytes,
    pingAfterMs: 60_000,
    bufferMs: 60_000,
    onFirstContent: () => undefined,
  })
  const controller = { paused: false, aborted: false, reason: null, pause() {}, resume() {}, abort() {} }
  const push = (bytes: Buffer) => assert.ok(relay.push(controller, bytes))
  const part = Buffer.alloc(64 * 1024, 'x')
  const beforeBytes = process.memoryUsage().arrayBuffers
  let maxBytes = 0
  push(Buffer.from(`${start}event: content_block_delta\ndata: "`))
  for (let at = 0; at < 160; at++) {
    push(part)
    maxBytes = Math.max(maxBytes, process.memoryUsage().arrayBuffers - beforeBytes)
  }
  push(Buffer.from(`"\n\n${end}`))
  assert.equal(relay.finish(), 'complete')
  assert.ok(sentBytes > 10_000_000 && maxBytes < 32 * 1024 * 1024, `${maxBytes} bytes buffered`)
  assert.equal(relay.tap.usage.output_tokens, 7)
})

test('F17: unknown events and data that is not JSON are relayed, and the call completes', async () => {
  const odd = `event: from_the_future\ndata: {"type":"x"}\n\nevent: content_block_delta\ndata: {"type":"cont\n\ndata\n\n:\n\n`
  const { text, outcome } = await answered([streamHead(), start + block + odd + end])
  assert.deepEqual([text, outcome?.outcome], [start + block + odd + end, 'completed'])
  const chat = `${chunk({ object: 'new' })}data: {"cho\n\n${chatWith(null)}data: [DONE]\n\n`
  const other = await answered([streamHead(), chat], { kind: 'chat' })
  assert.deepEqual([other.text, other.outcome?.outcome], [chat, 'completed'])
})

test('F17: a response with an encoding that the request does not accept fails without being unpacked', async () => {
  const bomb = gzipSync(Buffer.alloc(30_000_000))
  const head = streamHead('application/json', ['content-encoding: gzip'])
  const { error, heads } = await answered([head, bomb], { request: simpleRequest })
  assert.deepEqual([error?.code, heads], ['upstream_unreachable', 0])
})

for (const type of ['text/plain', 'application/octet-stream', 'TEXT/EVENT-STREAM; charset=utf-8']) {
  test(`F17: a stream of type ${type} is relayed as text/event-stream`, async () => {
    const { text, headers, outcome } = await answered([streamHead(type), whole])
    assert.deepEqual([text, outcome?.outcome], [whole, 'completed'])
    assert.match(headers['content-type'] ?? '', /^text\/event-stream/)
  })
}

test('F17: text that is not a stream fails a streamed call before anything is sent', async () => {
  const { error, heads } = await answered([streamHead('text/plain'), 'It works!'])
  assert.deepEqual([error?.code, heads], ['upstream_unreachable', 0])
})

const none = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  web_searches: 0,
  file_searches: 0,
  code_containers: 0,
}
const oddCounts = [-1, 1.5, 1e15, Number.MAX_SAFE_INTEGER, '7', null]

for (const count of oddCounts) {
  test(`F17: a count of ${JSON.stringify(count)} is ignored: spend is never negative or absurd`, async () => {
    const usage = { input_tokens: count, output_tokens: count, cache_read_input_tokens: count }
    const stream = await answered([streamHead(), startWith(usage) + block + endWith(usage)])
    assert.deepEqual({ ...stream.outcome?.usage, estimated: false }, { ...none, estimated: false })
    const whole = await answered([jsonAnswer(JSON.stringify({ type: 'message', content: [], usage }))], {
      request: simpleRequest,
    })
    assert.deepEqual({ ...whole.outcome?.usage, output_tokens: 0, estimated: false }, { ...none, estimated: false })
    const chat = { prompt_tokens: count, completion_tokens: count, prompt_tokens_details: { cached_tokens: count } }
    const { usage: counted } = (await answered([streamHead(), chatWith(chat)], { kind: 'chat' })).outcome ?? {}
    assert.ok(counted?.estimated && counted.input_tokens < 100 && counted.output_tokens < 100, JSON.stringify(counted))
  })
}

test('F17: more cached tokens than prompt tokens give an input of zero', async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } }
  const { outcome } = await answered([streamHead(), chatWith(usage)], { kind: 'chat' })
  assert.deepEqual(outcome?.usage, { ...none, cache_read_tokens: 9, output_tokens: 1, estimated: false })
})

test('F17: a response without usage is booked with an estimate, marked as one', async () => {
  const content = [{ type: 'text', text: 'word '.repeat(100) }]
  const message = await answered([jsonAnswer(JSON.stringify({ type: 'message', content }))], { request: simpleRequest })
  const { estimated, output_tokens: output = 0 } = message.outcome?.usage ?? {}
  assert.ok(estimated && output > 80 && output < 250)
  const choices = [{ message: { content: 'word '.repeat(100) }, finish_reason: 'stop' }]
  const chat = await answered([jsonAnswer(JSON.stringify({ choices }))], { kind: 'chat', request: simpleRequest })
  const counted = chat.outcome?.usage
  assert.ok(counted?.estimated && counted.input_tokens > 0 && counted.output_tokens > 80)
})
