import type { IncomingMessage } from 'node:http'
import type { Place } from './place.ts'
import type { NetworkPolicy } from './policy.ts'

/** Headers with which some servers replace the method of a request. */
const overrides = ['x-http-method-override', 'x-http-method', 'x-method-override']

/** Returns why a request to an allowed place is denied; undefined if it is not. */
export function requestProblem(
  { method, headers }: IncomingMessage,
  place: Place,
  policy: Pick<NetworkPolicy, 'denial' | 'secretsFor'>,
): string | undefined {
  for (const name of overrides) {
    const value = headers[name]
    const methods = (Array.isArray(value) ? value : [value ?? '']).flatMap(text => text.split(','))
    for (const named of methods.map(text => text.trim().toUpperCase()).filter(text => text !== '')) {
      const reason = policy.denial({ ...place, method: named })
      if (reason !== undefined) return `${reason}; the header ${name} names it`
    }
  }
  if (/\bwebsocket\b/i.test(headers.upgrade ?? ''))
    return `WebSocket connections to ${place.host} are not supported: they pass in tunnels only, to hosts without methods and secrets`
  // The response to TRACE repeats the headers of the request.
  if (method === 'TRACE' && policy.secretsFor(place.host).length > 0)
    return `method TRACE to ${place.host} would reveal its secrets`
  return undefined
}
