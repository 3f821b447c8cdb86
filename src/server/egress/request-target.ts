import type { IncomingMessage } from 'node:http'
import { type Place, placeOf, placeOfAuthority } from './place.ts'
import type { Reply } from './replies.ts'

type Scheme = 'http' | 'https'

/** A connection that a program opened with CONNECT, and whose requests the proxy sees. */
export interface OpenedTunnel {
  readonly place: Place
  readonly scheme: Scheme
}

/** Where a request goes. */
export interface RequestTarget extends OpenedTunnel {
  /** Path and query. */
  readonly path: string
}

/** Returns where a request goes, or the reply to a request that names no place, or another one than its tunnel. */
export function requestTarget({ url = '', headers }: IncomingMessage, tunnel?: OpenedTunnel): RequestTarget | Reply {
  if (tunnel) return targetInside(tunnel, { url, host: headers.host ?? '' })
  const address = URL.parse(url)
  if (address?.protocol !== 'http:')
    return { status: 400, message: 'the request needs an absolute address with http://' }
  return { place: placeOf(address), scheme: 'http', path: `${address.pathname}${address.search}` }
}

interface Head {
  readonly url: string
  readonly host: string
}

function targetInside({ place, scheme }: OpenedTunnel, { url, host }: Head): RequestTarget | Reply {
  if (!names(place, host)) return misdirected(place, host)
  if (url.startsWith('/')) return { place, scheme, path: url }
  const address = URL.parse(url)
  if (!address) return { status: 400, message: 'the request needs a path' }
  const named = placeOf(address)
  const isSame = named.host === place.host && named.port === place.port && address.protocol === `${scheme}:`
  return isSame ? { place, scheme, path: `${address.pathname}${address.search}` } : misdirected(place, address.host)
}

/** True for a `Host` header with the name of the place. Some programs omit a port other than 80 and 443. */
function names(place: Place, host: string): boolean {
  const named = placeOfAuthority(host) ?? placeOfAuthority(`${host}:${place.port}`)
  return named?.host === place.host && named.port === place.port
}

const misdirected = (place: Place, host: string): Reply => ({
  status: 421,
  message: `the request is for ${host.slice(0, 255)}, but its connection is to ${place.host}`,
})
