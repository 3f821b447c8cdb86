import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { probeMode } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { simpleRequest, streamed } from '../../../../test/support/gateway/gateway-pair.ts'
import { startByteServer, streamHead } from '../../../../test/support/upstream/byte-server.ts'
import type { UpstreamTimeouts } from '../../config/deployments.ts'
import type { Lookup } from '../../platform/outbound.ts'
import { anthropicMessages as format } from './anthropic-messages.ts'

const patient: UpstreamTimeouts = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 30_000 }
/** Calls a server that runs `answer`; asserts that the one short timeout ended the call. */
async function timed(
  request: object,
  timeouts: Partial<UpstreamTimeouts>,
  answer: (socket: Socket) => unknown = () => undefined,
  lookup?: Lookup,
) {
  const server = await startByteServer(answer)
  const apiBase = lookup ? 'http://upstream.example' : server.url
  const deployment = deploymentAt(apiBase, { timeouts: { ...patient, ...timeouts } })
  const probe = probeMode({ format, deployment, ...(lookup && { lookup }) })
  after(async () => {
    await probe.close()
    await server.stop()
  })
  const startedMs = performance.now()
  const told = await probe.call('messages', request)
  const tookMs = performance.now() - startedMs
  const expectedMs = Math.min(...Object.values(timeouts))
  assert.ok(tookMs > expectedMs - 10 && tookMs < patient.totalMs, `${tookMs} ms for a timeout of ${expectedMs}`)
  return told
}

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const start = frame('message_start', { message: { usage: { input_tokens: 3, output_tokens: 1 } } })
const block = frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const timeoutError = /event: error\ndata: \{"type":"error","error":\{"type":"timeout_error"/

test('F16: a connection that is never established ends the call at the connect timeout', async () => {
  const { error, heads } = await timed(streamed, { connectMs: 400 }, undefined, () => undefined)
  assert.deepEqual([error?.code, heads], ['upstream_unreachable', 0])
})

test('F16: an upstream that sends no head ends a streamed call at the first-byte timeout', async () => {
  const { error, heads } = await timed(streamed, { firstByteMs: 400 })
  assert.deepEqual([error?.code, heads], ['upstream_timeout', 0])
})

test('F16: a call without a stream has only the total timeout', async () => {
  const { error, heads } = await timed(simpleRequest, { totalMs: 400 })
  assert.deepEqual([error?.code, heads], ['upstream_timeout', 0])
})

test('F16: a stall before content ends the call at the idle timeout, and the client receives nothing', async () => {
  const { error, heads } = await timed(streamed, { idleMs: 400 }, socket => socket.write(streamHead() + start))
  assert.deepEqual([error?.code, heads], ['upstream_timeout', 0])
})

test('F16, E5: a stall after content ends the stream with one error event at the idle timeout', async () => {
  const { ending, text } = await timed(streamed, { idleMs: 400 }, socket => socket.write(streamHead() + start + block))
  assert.ok(text.startsWith(start + block))
  assert.match(text.slice((start + block).length), timeoutError)
  assert.equal(ending?.outcome, 'failed')
})

/** Writes one byte every 20 ms until the socket closes. */
function trickle(socket: Socket, head: string): void {
  socket.write(head)
  const timer = setInterval(() => socket.write('x'), 20)
  socket.once('close', () => clearInterval(timer))
}

test('F16: a trickle of bytes before content ends at the total timeout, and the client receives nothing', async () => {
  const { error, heads } = await timed(streamed, { totalMs: 600 }, socket =>
    trickle(socket, `${streamHead() + start}: `),
  )
  assert.deepEqual([error?.code, heads], ['upstream_timeout', 0])
})

test('F16: a trickle of bytes after content ends at the total timeout with one error event', async () => {
  const answer = (socket: Socket) => trickle(socket, `${streamHead() + start + block}: `)
  const { ending, text } = await timed(streamed, { totalMs: 600 }, answer)
  assert.match(text.slice((start + block).length), timeoutError)
  assert.equal(ending?.outcome, 'failed')
})
