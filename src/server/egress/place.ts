import { isIP } from 'node:net'
import { withoutTrailing } from '../platform/trailing.ts'

/** A host and port that a sandbox connects to. */
export interface Place {
  /** Lower case, without a trailing dot; IPv6 without brackets. */
  readonly host: string
  readonly port: number
}

/** Returns the place of an absolute address. */
export const placeOf = ({ hostname, port, protocol }: URL): Place => ({
  host: bare(hostname),
  port: Number(port) || (protocol === 'https:' ? 443 : 80),
})

/** Returns the place of the target of CONNECT; undefined unless it is `host:port`. */
export function placeOfAuthority(authority: string): Place | undefined {
  const [, host, digits] = /^([^\s/\\@?#]+):(\d{1,5})$/.exec(authority) ?? []
  // The URL parser normalises all spellings of addresses, such as a decimal number for an IPv4 address.
  const parsed = host === undefined ? null : URL.parse(`http://${host}`)
  const port = Number(digits)
  if (!parsed || parsed.hostname === '' || port < 1 || port > 65_535) return undefined
  return { host: bare(parsed.hostname), port }
}

/** Returns `host:port`, with brackets around IPv6. */
export const authorityOf = ({ host, port }: Place): string => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`

const bare = (hostname: string): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : withoutTrailing(hostname.toLowerCase(), '.')
