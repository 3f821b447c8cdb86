import type { IncomingMessage } from 'node:http'
import { consoleHeader } from '../../contract/console.ts'

type Heads = Pick<IncomingMessage, 'headers'>

/**
 * False if a browser made the request for a page of another origin. Browsers send `Sec-Fetch-Site` with every request
 * to loopback or https, even without a body or `Origin`; other clients do not send it.
 */
export function isFromOwnPage({ headers }: Heads): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}

/**
 * True if Host is a loopback name and the Origin, if any, is exactly that host and port over http. Another port of this
 * machine is another program. Prevents DNS rebinding and cross-site calls. Security: S42.
 */
export function isLocalRequest({ headers }: Heads): boolean {
  const { host = '', origin } = headers
  if (!isLoopbackHost(host)) return false
  return origin === undefined || origin === URL.parse(`http://${host}`)?.origin
}

/** True for a loopback name or address, with or without a port. */
export const isLoopbackHost = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host)

/**
 * True for a request that a page of this service sent on purpose: with its own header, and with its own origin if there is one. A
 * form or script of another page can do neither. Security: S43.
 */
export function isDeliberate({ headers }: Heads): boolean {
  const { host = '', origin } = headers
  if (headers[consoleHeader] !== '1') return false
  return origin === undefined || URL.parse(origin)?.host === host.toLowerCase()
}
