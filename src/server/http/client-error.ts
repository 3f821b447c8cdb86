import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { newId } from '../platform/ids.ts'

const refusals: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are larger than 16 KB'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request was not complete in time'],
}

/**
 * Answers bytes that are no HTTP request, so that no route ever sees them, and closes the connection: what follows on it
 * cannot be told apart from the rest of the bad request.
 */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable) {
    socket.destroy(error)
    return
  }
  const [status, message] = refusals[error.code ?? ''] ?? [400, 'not a valid HTTP request']
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
