import type { IncomingMessage } from 'node:http'
import { AppError } from '../platform/errors.ts'

/** Called once. With an error, the body is empty. */
type Done = (error: Error | undefined, body: Buffer) => void

const nothing = Buffer.alloc(0)

/**
 * Reads a body of up to `limit` bytes. Fastify's parser would copy each body once more, even one that arrived in a
 * single chunk.
 */
export function receiveBody(request: IncomingMessage, limit: number, done: Done): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    done(bodyTooLarge(limit), nothing)
    return
  }
  const chunks: Buffer[] = []
  let size = 0
  let isOver = false
  const fail = (error: Error): void => {
    if (isOver) return
    isOver = true
    chunks.length = 0
    done(error, nothing)
  }
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (isOver) return
    if (size > limit) fail(bodyTooLarge(limit))
    else chunks.push(chunk)
  })
  request.on('end', () => {
    if (!isOver) done(undefined, joined(chunks, size))
    isOver = true
  })
  request.on('error', cause => fail(new AppError('invalid_request', 'request body was truncated', { cause })))
}

/** Reads a body of up to `limit` bytes. Rejects with `payload_too_large` or `invalid_request`. */
export const receivedBody = (request: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    receiveBody(request, limit, (error, body) => (error ? reject(error) : resolve(body)))
  })

/**
 * Joins the chunks of a body and frees them at once: as external memory they would trigger a full garbage collection
 * every hundred calls.
 */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [first = nothing] = chunks
  if (chunks.length < 2) return first
  const body = Buffer.concat(chunks, size)
  for (const { buffer, length } of chunks) {
    // A chunk that is a part of a larger buffer must not be freed.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
  }
  return body
}

/** Error for a body of more than `limit` bytes. */
export const bodyTooLarge = (limit: number): AppError =>
  new AppError('payload_too_large', `request body exceeds ${limit} bytes, the limit of this operation`)
