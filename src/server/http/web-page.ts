import type { IncomingMessage } from 'node:http'

type Heads = Pick<IncomingMessage, 'headers'>

/**
 * True unless a browser says that a page of another origin made the request. Browsers set `Sec-Fetch-Site` on every
 * request to loopback or https, also on those without a body and without `Origin`; other clients do not send it.
 */
export function isFromOwnPage({ headers }: Heads): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}

/**
 * True when Host names the loopback of this machine, and a page that calls is one of ours: its origin is that very host
 * and port, over http. Another port of this machine is another program. Stops rebinding and cross-site calls; security S42.
 */
export function isLocalRequest({ headers }: Heads): boolean {
  const { host = '', origin } = headers
  if (!isLoopbackHost(host)) return false
  return origin === undefined || origin === URL.parse(`http://${host}`)?.origin
}

const isLoopbackHost = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host)
