import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isPrivateAddress, isPrivateName } from './addresses.ts'

const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
const hostName = new RegExp(`^(\\*\\.)?(${label}\\.)+${label}$`)

/** Returns why a host, or `*.` and a domain, cannot be one that sandboxes may reach; undefined if it can. */
export function hostPatternProblem(given: string): string | undefined {
  const host = given.toLowerCase()
  const bare = host.replace(/^\[|\]$/g, '')
  if (isIP(bare) !== 0)
    return isPrivateAddress(bare) ? 'is not a public address; sandboxes can reach public addresses only' : undefined
  if (!hostName.test(host) || domainToASCII(host.replace(/^\*\./, '')) === '')
    return 'must be a host name such as api.example.com or *.example.com, without scheme, port and path'
  return isPrivateName(host) ? 'is not a public name; sandboxes can reach public addresses only' : undefined
}
