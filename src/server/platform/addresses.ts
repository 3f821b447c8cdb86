import { BlockList, isIP } from 'node:net'
import { withoutTrailing } from './trailing.ts'

/** IPv4 networks that are not the public internet. Source: IANA special-purpose registry. */
const closed4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** IPv6 networks that are not the public internet, or that embed an IPv4 address (mapped, NAT64, 6to4, Teredo). */
const closed6 = [
  '::/96',
  '::ffff:0:0/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

// One list per family: Node matches IPv4 addresses against mapped IPv6 networks, which would block all of IPv4.
const lists = { 4: listOf(closed4, 'ipv4'), 6: listOf(closed6, 'ipv6') }

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** True for addresses outside of the public internet, and for text that is not an address. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return lists[4].check(address, 'ipv4')
  if (family === 6) return address.includes('%') || lists[6].check(address, 'ipv6')
  return true
}

const privateNames: ReadonlySet<string> = new Set([
  'localhost',
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'kubernetes.default.svc',
])
const privateSuffixes = ['.localhost', '.local', '.internal', '.localdomain', '.home.arpa']

/** True for names that always mean this machine, its network or a cloud metadata service. */
export function isPrivateName(name: string): boolean {
  const plain = withoutTrailing(name.toLowerCase(), '.')
  return privateNames.has(plain) || privateSuffixes.some(suffix => plain.endsWith(suffix))
}

/** True for a name or an address that is not on the public internet. IPv6 addresses have no brackets. */
export const isPrivateHost = (host: string): boolean =>
  isIP(host) === 0 ? isPrivateName(host) : isPrivateAddress(host)

/** True if a server that listens on `host` is only reachable from this machine. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
