import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { awsFrame } from '../../../../test/support/upstream/dialects/aws-frame.ts'
import { type AwsFrame, createAwsEventStream, EventStreamError } from './aws-event-stream.ts'

const event = (name: string, data: string): Buffer =>
  awsFrame({ ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' }, data)

/** Reads `bytes` in pieces that end at `cuts`. */
function read(bytes: Buffer, cuts: readonly number[] = []): readonly AwsFrame[] {
  const stream = createAwsEventStream()
  const ends = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].flatMap((end, index) => stream(bytes.subarray(index === 0 ? 0 : ends[index - 1], end)))
}

test('the events are the same for any split of the stream', () => {
  const frame = fc.tuple(fc.stringMatching(/^[a-zA-Z]{1,20}$/), fc.string({ unit: 'grapheme', maxLength: 200 }))
  const property = fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.nat()), (frames, cuts) => {
    const bytes = Buffer.concat(frames.map(([name, data]) => event(name, data)))
    assert.deepEqual(
      read(bytes, cuts),
      frames.map(([name, data]) => ({ event: name, data, bytes: event(name, data).length })),
    )
  })
  fc.assert(property, { numRuns: 300 })
})

test('the events are the same for a stream that arrives byte by byte', () => {
  const bytes = Buffer.concat([event('messageStart', '{"role":"assistant"}'), event('contentBlockDelta', '{"é":"😀"}')])
  const cuts = Array.from({ length: bytes.length }, (_, at) => at)
  assert.deepEqual(read(bytes, cuts), read(bytes))
})

test('exceptions and errors have a name and a message', () => {
  const recorded =
    'AAAA3QAAAGfHkZB6DTptZXNzYWdlLXR5cGUHAAlleGNlcHRpb24POmV4Y2VwdGlvbi10eXBlBwAZbW9kZWxTdHJlYW1FcnJvckV4Y2VwdGlvbg06Y29udGVudC10eXBlBwAQYXBwbGljYXRpb24vanNvbnsibWVzc2FnZSI6Ik1vZGVsIFN0cmVhbSBFcnJvciIsIm9yaWdpbmFsU3RhdHVzQ29kZSI6NTAwLCJvcmlnaW5hbE1lc3NhZ2UiOiJUaGUgbW9kZWwgc3RyZWFtIGZhaWxlZC4ifVczQxM='
  const error = awsFrame(
    { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Oh "no"' },
    '',
  )
  const [exception, failure] = read(Buffer.concat([Buffer.from(recorded, 'base64'), error]))
  assert.equal(exception?.event, 'modelStreamErrorException')
  assert.equal(JSON.parse(exception?.data ?? '').message, 'Model Stream Error')
  assert.deepEqual(failure, { event: 'InternalFailure', data: '{"message":"Oh \\"no\\""}', bytes: error.length })
})

test('any flipped bit is detected, and the frames before it are returned', () => {
  const good = event('messageStart', '{}')
  const bad = event('contentBlockDelta', '{"delta":{"text":"hello"}}')
  for (let bit = 0; bit < bad.length * 8; bit++) {
    const broken = Buffer.from(bad)
    broken[bit >> 3] = (broken[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const stream = createAwsEventStream()
    assert.throws(
      () => stream(Buffer.concat([good, broken])),
      (error: unknown) => error instanceof EventStreamError && error.frames[0]?.event === 'messageStart',
    )
    assert.throws(() => stream(good), EventStreamError)
  }
})

/** A prelude with a correct checksum and no message. */
const prelude = (length: number): Buffer => {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(length, 0)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
  return bytes
}

for (const [name, bytes] of [
  ['HTML', Buffer.from('<html><body>Bad gateway</body></html>')],
  ['server-sent events', Buffer.from('event: message_start\ndata: {}\n\n')],
  ['zeros', Buffer.alloc(64)],
  ['a length of more than 16 MiB', prelude(16 * 1024 * 1024 + 1)],
] as const) {
  test(`${name} instead of an event stream throws at once`, () => {
    assert.throws(() => createAwsEventStream()(bytes), EventStreamError)
  })
}

test('a truncated frame is not an event', () => {
  const bytes = event('messageStop', '{"stopReason":"end_turn"}')
  for (let end = 0; end < bytes.length; end++) assert.deepEqual(read(bytes.subarray(0, end)), [])
})

test('a frame of 8 MiB in small pieces is assembled in linear time', () => {
  const data = 'x'.repeat(8 * 1024 * 1024)
  const bytes = event('contentBlockDelta', data)
  const cuts = Array.from({ length: Math.floor(bytes.length / 512) }, (_, at) => at * 512)
  const timeOf = (places: readonly number[]) => {
    const startedMs = performance.now()
    assert.equal(read(bytes, places)[0]?.data.length, data.length)
    return performance.now() - startedMs
  }
  // Joining at each piece would copy 64 GB: some thousand times the bytes of the frame.
  const wholeMs = Math.max(timeOf([]), timeOf([]))
  assert.ok(timeOf(cuts) < 300 * wholeMs)
})
