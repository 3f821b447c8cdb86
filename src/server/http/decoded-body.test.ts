import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { AppError } from '../platform/errors.ts'
import { receivedDecodedBody } from './decoded-body.ts'

const limit = 1_000

function received(body: Buffer, encoding?: string): Promise<Buffer> {
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
  const stream = Object.assign(new PassThrough(), { headers })
  stream.end(body)
  return receivedDecodedBody(stream as unknown as IncomingMessage, limit)
}

const text = '{"model":"m"}'
const encoded = {
  gzip: gzipSync(text),
  'x-gzip': gzipSync(text),
  deflate: deflateSync(text),
  br: brotliCompressSync(text),
  zstd: zstdCompressSync(text),
  ' GZIP': gzipSync(text),
  identity: Buffer.from(text),
}

for (const [encoding, body] of Object.entries(encoded))
  test(`a body with content-encoding ${encoding.trim()} is decompressed`, async () =>
    assert.equal((await received(body, encoding)).toString(), text))

const rejected = [
  ['an unknown encoding', 'compress', Buffer.from(text), 'unsupported_media_type'],
  ['two encodings', 'gzip, zstd', gzipSync(text), 'unsupported_media_type'],
  ['a body that is not compressed', 'zstd', Buffer.from(text), 'invalid_request'],
  ['a truncated body', 'zstd', zstdCompressSync(text).subarray(0, -4), 'invalid_request'],
  [
    'a body that is larger than the limit once decompressed',
    'zstd',
    zstdCompressSync('a'.repeat(limit + 1)),
    'payload_too_large',
  ],
] as const

for (const [what, encoding, body, code] of rejected)
  test(`${what} is rejected with ${code}`, () =>
    assert.rejects(received(body, encoding), error => error instanceof AppError && error.code === code))
