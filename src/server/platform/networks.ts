import { BlockList, isIP } from 'node:net'

const families = { 4: 'ipv4', 6: 'ipv6' } as const

/** True for a network in CIDR notation, such as `10.0.0.0/8` or `fd00::/8`. */
export const isNetwork = (text: string): boolean => parse(text) !== undefined

/**
 * Returns a function that is true for addresses in one of the networks, and false for text that is not an address.
 * One list per family, because Node matches IPv4 addresses against mapped IPv6 networks.
 */
export function networks(texts: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const text of texts) {
    const network = parse(text)
    if (network) lists[network.family].addSubnet(network.address, network.bits, network.family)
  }
  if (texts.length === 0) return () => false
  return address => {
    const family = familyOf(address)
    return family !== undefined && lists[family].check(address, family)
  }
}

/** Undefined for text that is not an address, and for addresses with a zone. */
function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address)
  return (version === 4 || version === 6) && !address.includes('%') ? families[version] : undefined
}

function parse(text: string) {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const family = familyOf(address)
  const bits = Number(digits)
  return family !== undefined && bits <= (family === 'ipv4' ? 32 : 128) ? { address, bits, family } : undefined
}
