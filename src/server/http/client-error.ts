import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { newId } from '../platform/ids.ts'
import type { SlowBodies } from './slow-bodies.ts'

const knownErrors: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'request headers exceed 16 KB'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request was not complete in time'],
}

/**
 * Returns the handler that answers a malformed HTTP request and closes the connection, because the start of the next
 * request on it is unknown.
 */
export const createAnswerClientError =
  (slowBodies: Pick<SlowBodies, 'has'>) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && slowBodies.has(socket)) return
    answerClientError(error, socket)
  }

function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable) {
    socket.destroy(error)
    return
  }
  const [status, message] = knownErrors[error.code ?? ''] ?? [400, 'invalid HTTP request']
  const body = JSON.stringify({ error: { type: 'gateway_error', message } })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `request-id: ${newId('req')}`,
    'connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}
