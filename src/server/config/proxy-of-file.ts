import { isNetwork } from '../platform/networks.ts'
import { withoutTrailing } from '../platform/trailing.ts'
import type { Config } from './config.ts'
import type { ConfigFile, Place } from './file.ts'

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

/** Returns the public address of the service and the trusted proxies in front of it. */
export function proxyOfFile({ file, report }: Reading): Pick<Config, 'publicUrl' | 'trustProxy'> {
  const { public_url: url, trust_proxy: trustProxy = [] } = file.value.general_settings ?? {}
  const problem = url === undefined ? undefined : problemOfUrl(url)
  if (problem !== undefined)
    report(`general_settings.public_url ${problem}`, file.place(['general_settings', 'public_url']))
  for (const [index, network] of trustProxy.entries()) {
    if (network !== undefined && isNetwork(network)) continue
    report(
      `general_settings.trust_proxy[${index}] must be a network such as 10.0.0.0/8, 192.0.2.7/32 or fd00::/8`,
      file.place(['general_settings', 'trust_proxy', index]),
    )
  }
  const parsed = url === undefined ? null : URL.parse(url)
  return {
    publicUrl: parsed ? withoutTrailing(parsed.href, '/') : undefined,
    trustProxy: trustProxy.filter(network => network !== undefined),
  }
}

function problemOfUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'must be an http or https URL'
  if (/[?#]/.test(text)) return 'must not have a query or a fragment'
  if (url.username !== '' || url.password !== '') return 'must not have a user name or a password'
  return undefined
}
