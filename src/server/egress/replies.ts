import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { OutboundBlocked } from '../platform/outbound.ts'

/** Answer of the proxy itself. */
export interface Reply {
  readonly status: 400 | 403 | 421 | 502
  /** For the person or model that reads the output of the command. */
  readonly message: string
}

/** Answers a request. */
export function reject(response: ServerResponse, { status, message }: Reply): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${message}\n`)
}

const phrases = { 400: 'Bad Request', 403: 'Forbidden', 421: 'Misdirected Request', 502: 'Bad Gateway' } as const

/** Answers CONNECT. */
export function rejectTunnel(client: Duplex, { status, message }: Reply): void {
  const body = `${message}\n`
  client.end(
    [
      `HTTP/1.1 ${status} ${phrases[status]}`,
      'content-type: text/plain; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

export const denied = (reason: string): Reply => ({ status: 403, message: `network access denied: ${reason}` })

/** Returns the answer for a connection that failed. The names of addresses behind a host are not revealed. */
export function failure(error: unknown, host: string): Reply {
  if (error instanceof OutboundBlocked)
    return denied(`${host} is not a public address, and sandboxes can reach public addresses only`)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (certificateError.test(code)) return { status: 502, message: `the certificate of ${host} is not valid (${code})` }
  return { status: 502, message: `cannot reach ${host}${code && ` (${code})`}` }
}

/** Codes of OpenSSL and Node. */
const certificateError = /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/
