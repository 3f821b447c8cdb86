import type { IncomingMessage } from 'node:http'
import { AppError } from '../platform/errors.ts'

/** With an error there is no body. */
type Done = (error: Error | undefined, body: Buffer) => void

const nothing = Buffer.alloc(0)

/**
 * Collects a body of up to `limit` bytes as it comes. The library's own way copies each body once more, also one that
 * arrived in a single piece.
 */
export function receiveBody(request: IncomingMessage, limit: number, done: Done): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    done(tooLarge(), nothing)
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
    if (size > limit) fail(tooLarge())
    else chunks.push(chunk)
  })
  request.on('end', () => {
    if (!isOver) done(undefined, joined(chunks, size))
    isOver = true
  })
  request.on('error', cause => fail(new AppError('invalid_request', 'the body broke off', { cause })))
}

/**
 * The whole of a body. Its pieces are given back at once: left to the collector, these megabytes outside its own heap
 * make it search all of that again every hundred calls.
 */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [first = nothing] = chunks
  if (chunks.length < 2) return first
  const body = Buffer.concat(chunks, size)
  for (const { buffer, length } of chunks) {
    // A piece that is a part of something larger is not ours to give back.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
  }
  return body
}

const tooLarge = (): AppError => new AppError('payload_too_large', 'the body is larger than this route allows')
