import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { isLoopbackHost } from '../platform/addresses.ts'
import { networks } from '../platform/networks.ts'

/**
 * Returns the client's address for limits and logs, never for authorization. Undefined once the connection is closed,
 * and for connections without an address.
 */
export type AddressOf = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string | undefined

/**
 * Reads `X-Forwarded-For` only on connections from `trustProxy`. Each proxy appends the address that it sees, so the
 * header is read from its end, up to the first address that is not a trusted proxy: the client may have forged earlier
 * ones.
 */
export function createAddressOf(trustProxy: readonly string[]): AddressOf {
  const isTrusted = networks(trustProxy)
  return ({ socket, headers }) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return undefined
    let address = plain(remoteAddress)
    if (trustProxy.length === 0) return address
    const hops = forwardedFor(headers['x-forwarded-for'])
    while (isTrusted(address)) {
      const hop = hopOf(hops.pop())
      // The loopback address of another machine must not count as a client on this machine.
      if (hop === undefined || (isLoopbackHost(hop) && !isTrusted(hop))) break
      address = hop
    }
    return address
  }
}

const forwardedFor = (header: string | readonly string[] | undefined): string[] =>
  header === undefined || header === '' ? [] : String(header).split(',')

/** Returns the address of an entry, with or without a port. Undefined for other text, such as `unknown`. */
function hopOf(entry = ''): string | undefined {
  const text = entry.trim()
  const [, bracketed, withPort] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? []
  const address = bracketed ?? withPort ?? text
  return isIP(address) !== 0 && !address.includes('%') ? plain(address) : undefined
}

/** Unmaps IPv4 addresses, which servers that listen on IPv6 see as mapped ones. */
const plain = (address: string): string => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped !== undefined && isIP(mapped) === 4 ? mapped : address
}
