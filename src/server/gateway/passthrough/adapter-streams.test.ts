import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { streamed } from '../../../../test/support/gateway/gateway-pair.ts'
import { jsonAnswer, startByteServer, streamHead } from '../../../../test/support/upstream/byte-server.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import type { PassthroughFormat } from './passthrough-format.ts'

async function passthroughTo(bytes: string, format: PassthroughFormat = anthropicMessages) {
  const server = await startByteServer(socket => socket.end(bytes))
  const probe = probeMode({ format, deployment: deploymentAt(server.url) })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  return probe
}

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const whole = frame('message_start') + frame('content_block_start', { index: 0 }) + frame('message_stop')

const sealed = { type: 'thinking', thinking: 'hm', signature: 'sy1.k.p.m' }
const replayed = {
  ...streamed,
  messages: [...streamed.messages, { role: 'assistant', content: [sealed, { type: 'text', text: 'a' }] }],
}
const degraded = [{ path: 'messages.1.content.0', action: 'dropped' }]

test('K4: removed blocks are listed in the response headers and in the booking', async () => {
  const { call } = await passthroughTo(streamHead() + whole)
  const { headers, ending } = await call('messages', replayed)
  assert.equal(headers['x-switchyard-degraded'], 'messages.1.content.0=dropped')
  assert.deepEqual(ending?.degraded, degraded)
})

test('K4: removed blocks are listed with an upstream error too', async () => {
  const { call } = await passthroughTo(jsonAnswer('{"type":"error"}', '400 Bad Request'))
  const { ending } = await call('messages', replayed)
  assert.ok(ending?.outcome === 'refused')
  assert.equal(ending.headers['x-switchyard-degraded'], 'messages.1.content.0=dropped')
  assert.deepEqual(ending.degraded, degraded)
})

/** Test framing: each line is a JSON string; any other line is a framing error. */
const framed: PassthroughFormat = {
  ...anthropicMessages,
  streamType: 'application/x-frames',
  createUnwrap: () => chunk => [Buffer.from(JSON.parse(`[${chunk.toString().trim().split('\n')}]`).join(''))],
}
const inLines = (text: string) => `${JSON.stringify(text)}\n`

test('a stream in the upstream’s own framing is sent as server-sent events', async () => {
  const { call } = await passthroughTo(`${streamHead('application/x-frames')}${inLines(whole)}`, framed)
  const { headers, text, ending } = await call('messages', streamed)
  assert.deepEqual([text, ending?.outcome], [whole, 'completed'])
  assert.match(headers['content-type'] ?? '', /^text\/event-stream/)
})

test('a framing error before content is an upstream error', async () => {
  const { call } = await passthroughTo(`${streamHead('application/x-frames')}garbage`, framed)
  const { ending, heads } = await call('messages', streamed)
  assert.ok(ending?.outcome === 'refused')
  assert.deepEqual([ending.status, heads], [502, 0])
})
