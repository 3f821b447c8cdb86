import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import { receiveBody } from './receive-body.ts'

/** Receives a body of up to 10 bytes; `send` writes to the stream that it comes by. */
function received(send: (stream: PassThrough) => void, headers: Record<string, string> = {}): Promise<Buffer> {
  const stream = new PassThrough()
  const ends = new Promise<Buffer>((resolve, reject) => {
    const request = Object.assign(stream, { headers }) as unknown as IncomingMessage
    receiveBody(request, 10, (error, body) => (error ? reject(error) : resolve(body)))
  })
  send(stream)
  return ends
}

test('a body equals what was sent, in any number of chunks', async () => {
  assert.equal((await received(stream => stream.end())).toString(), '')
  assert.equal((await received(stream => stream.end('one piece'))).toString(), 'one piece')
  const pieces = await received(stream => {
    for (const piece of ['a', 'bc', 'def']) stream.write(piece)
    stream.end('ghij')
  })
  assert.equal(pieces.toString(), 'abcdefghij')
})

test('a chunk of a shared buffer is not freed', async () => {
  const shared = Buffer.from('abcdefgh')
  const own = Buffer.from(new Uint8Array([0x69, 0x6a]).buffer)
  const body = await received(stream => {
    for (const piece of [shared.subarray(0, 4), shared.subarray(4), own]) stream.write(piece)
    stream.end()
  })
  assert.deepEqual([body.toString(), shared.toString(), own.length], ['abcdefghij', 'abcdefgh', 0])
})

const tooLong = [
  ['says so', (stream: PassThrough) => stream.end(), { 'content-length': '11' }],
  ['does not say so', (stream: PassThrough) => stream.end('01234567890'), {}],
  [
    'comes in pieces and never ends',
    (stream: PassThrough) => {
      for (let at = 0; at < 20; at++) stream.write('0123456')
    },
    {},
  ],
] as const

for (const [name, send, headers] of tooLong) {
  test(`a body that is too large is rejected once: one that ${name}`, async () => {
    const message = 'request body exceeds 10 bytes, the limit of this operation'
    await assert.rejects(received(send, headers), { code: 'payload_too_large', message })
  })
}

test('a truncated body is an error', async () => {
  const ended = received(stream => {
    stream.write('{"mod')
    stream.destroy(new Error('aborted'))
  })
  await assert.rejects(ended, (error: unknown) => error instanceof AppError && error.code === 'invalid_request')
})
