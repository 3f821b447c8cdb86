import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicMessages } from '../passthrough/anthropic-messages.ts'
import { StreamRelay } from '../passthrough/stream-relay.ts'
import type { Sink } from './call.ts'
import { FrameBuffer } from './frame-buffer.ts'

const bufferMs = 2_000
const frame = 'event: ping\ndata: {"type":"ping"}\n\n'

/** A client that reads nothing until `drain` is called, and the upstream behind it. */
function slowClient() {
  const did: string[] = []
  let drain = () => {}
  const sink: Sink = {
    head: () => did.push('head'),
    data: () => did.push('data') < 0,
    onDrain: resume => {
      drain = resume
    },
    end: () => did.push('end'),
  }
  const controller = {
    paused: false,
    aborted: false,
    reason: null,
    pause: () => did.push('pause'),
    resume: () => did.push('resume'),
    abort: () => did.push('abort'),
  }
  return { sink, controller, did, drain: () => drain() }
}

test('R3, S51: a passthrough that starts at the end of the hold-back window pauses an upstream that is faster than the client', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { sink, controller, did, drain } = slowClient()
  const relay = new StreamRelay({
    format: anthropicMessages,
    sink,
    open: () => sink.head(200, {}),
    buffersDeclined: false,
    scrub: bytes => bytes,
    pingAfterMs: 60_000,
    bufferMs,
    onFirstContent: () => undefined,
  })
  assert.ok(relay.push(controller, Buffer.from(frame)))
  t.mock.timers.tick(bufferMs)
  assert.deepEqual(did, ['head', 'data', 'pause'])
  drain()
  assert.deepEqual(did.slice(3), ['resume'])
  relay.stop()
})

test('R3, S51: a translation that starts at the end of the hold-back window pauses its upstream as well', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { sink, controller, did, drain } = slowClient()
  const buffer = new FrameBuffer({
    sink,
    open: () => sink.head(200, {}),
    ping: () => frame,
    pingAfterMs: 60_000,
    bufferMs,
  })
  buffer.add(frame)
  buffer.flush(controller)
  assert.deepEqual(did, [])
  t.mock.timers.tick(bufferMs)
  assert.deepEqual(did, ['head', 'data', 'pause'])
  drain()
  assert.deepEqual(did.slice(3), ['resume'])
  buffer.stop()
})
