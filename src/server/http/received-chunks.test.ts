import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { receivedChunks } from './received-chunks.ts'

test('a body is read to its end', async () => {
  const body = new PassThrough()
  body.write('one')
  body.end('two')
  const chunks = await Array.fromAsync(receivedChunks(body as unknown as IncomingMessage))
  assert.equal(Buffer.concat(chunks).toString(), 'onetwo')
})

test('a body that stalls or breaks is rejected, and is not destroyed by its reader', async () => {
  const stalled = new PassThrough()
  stalled.write('one')
  await assert.rejects(Array.fromAsync(receivedChunks(stalled as unknown as IncomingMessage, 10)), {
    code: 'invalid_request',
    message: 'request body stalled: nothing arrived for 0.01 s',
  })
  assert.equal(stalled.destroyed, false)
  const broken = new PassThrough()
  broken.write('one')
  const reading = Array.fromAsync(receivedChunks(broken as unknown as IncomingMessage))
  broken.destroy(new Error('aborted'))
  await assert.rejects(reading, { code: 'invalid_request', message: 'request body was truncated' })
})
