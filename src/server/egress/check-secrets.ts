import { isIP } from 'node:net'
import { type Json, recordsOf, textOf } from '../platform/json.ts'
import { boundSecrets } from './secrets.ts'

interface Problem {
  /** Below `config.network.secrets`, such as `[0].host`. */
  readonly path: string
  readonly text: string
}

const fields: readonly string[] = ['vault_key', 'host', 'header', 'auth_type']

/** Headers of the connection, of the framing of a message, of the proxy, and those that name another method. */
const reserved =
  /^(accept-encoding|connection|content-.*|date|expect|forwarded|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|via|x-forwarded-.*|x-http-method|x-http-method-override|x-method-override)$/

/** Returns the first problem of `config.network.secrets`, whose shape was checked before. */
export function firstSecretProblem(network: Json, isAllowedHost: (host: string) => boolean): Problem | undefined {
  const entries = recordsOf(network['secrets'])
  const taken = new Set<string>()
  for (const [at, { host, header, type }] of boundSecrets(network).entries()) {
    const about = (name: string, text: string): Problem => ({ path: `[${at}].${name}`, text })
    const unknown = Object.keys(entries[at] ?? {}).find(name => !fields.includes(name))
    if (unknown !== undefined) return about(unknown.slice(0, 100), `is unknown; known fields: ${fields.join(', ')}`)
    const hostText = hostProblem(host, isAllowedHost)
    if (hostText !== undefined) return about('host', hostText)
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(header)) return about('header', 'is not a valid header name')
    if (reserved.test(header)) return about('header', `${header} is set by the proxy or by the program itself`)
    if (type !== 'authorization' && header !== 'authorization')
      return about('auth_type', `${textOf(entries[at]?.['auth_type'])} needs the header authorization`)
    if (taken.has(`${host} ${header}`)) return about('header', `${header} of ${host} is a duplicate`)
    taken.add(`${host} ${header}`)
  }
  return undefined
}

function hostProblem(host: string, isAllowedHost: (host: string) => boolean): string | undefined {
  if (host.includes('*')) return 'must be one host name; a secret belongs to one host, without wildcard'
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) return 'must be a host name, not an address'
  if (!/^[a-z0-9_.-]+$/.test(host) || host.endsWith('.'))
    return 'must be a host name such as api.example.com, without scheme, port and path'
  return isAllowedHost(host) ? undefined : 'is not an allowed host; add it to config.network.allowed_hosts'
}
