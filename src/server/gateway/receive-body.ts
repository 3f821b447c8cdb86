import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../platform/errors.ts'

type Done = (error: Error | null, body?: Buffer) => void

/**
 * Collects bodies of up to `limit` bytes as they come. The library's own way copies each body once more, also one that
 * arrived in a single piece.
 */
export function bodyReceiver(limit: number) {
  return (request: FastifyRequest, payload: IncomingMessage, done: Done): void => {
    if (Number(request.headers['content-length'] ?? 0) > limit) {
      done(tooLarge())
      return
    }
    const chunks: Buffer[] = []
    let size = 0
    let isOver = false
    const finish = (error: Error | null): void => {
      if (isOver) return
      isOver = true
      if (error) done(error)
      else done(null, joined(chunks, size))
    }
    payload.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (isOver) return
      if (size > limit) {
        chunks.length = 0
        finish(tooLarge())
      } else chunks.push(chunk)
    })
    payload.on('end', () => finish(null))
    payload.on('error', cause => finish(new AppError('invalid_request', 'the body broke off', { cause })))
  }
}

/**
 * The whole of a body. Its pieces are given back at once: left to the collector, these megabytes outside its own heap
 * make it search all of that again every hundred calls.
 */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [only] = chunks
  if (only && chunks.length === 1) return only
  const body = Buffer.concat(chunks, size)
  for (const { buffer, length } of chunks) {
    // A piece that is a part of something larger is not ours to give back.
    if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
  }
  return body
}

const tooLarge = (): AppError => new AppError('payload_too_large', 'the body is larger than this route allows')
