import { hostPatternProblem } from '../platform/host-pattern.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../platform/json.ts'
import type { Finding } from '../runtimes/runtime.ts'
import { firstSecretProblem } from './check-secrets.ts'
import { networkPolicy, ofAgent } from './policy.ts'

interface Deps {
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  /** The driver of this server; without network its description explains why. */
  readonly sandboxes: { readonly hasNetwork: boolean; readonly detail: string }
}

/** Where the runtime of an agent works. */
export type Workplace = 'sandbox' | 'server' | 'elsewhere'

/** Checks `config.network` beyond its schema. */
export type NetworkCheck = ReturnType<typeof createNetworkCheck>

const limitedFields = ['allowed_hosts', 'presets', 'allow_package_managers', 'allow_mcp_servers'] as const

export function createNetworkCheck({ allowUnrestricted, sandboxes }: Deps) {
  /** Returns the first problem; undefined for a valid or absent network. */
  return (config: Json, workplace: Workplace): Finding | undefined => {
    const network = recordOf(config['network'])
    const type = network['type'] ?? 'none'
    const wrong = fieldProblem(network, type)
    if (wrong || type === 'none') return wrong
    if (workplace === 'elsewhere')
      return finding('', 'is not supported: the runtime does not work in a sandbox of this service')
    if (workplace === 'server')
      return finding('', 'is not supported: the runtime has isolation none, and so the network of this service')
    if (!sandboxes.hasNetwork)
      return finding(
        '',
        `needs a sandbox with a network (bubblewrap or docker), but this service uses: ${sandboxes.detail}`,
      )
    if (type === 'unrestricted' && !allowUnrestricted)
      return finding('.type', 'unrestricted needs limits.allow_unrestricted_egress: true in the configuration')
    return firstHostProblem(network) ?? secretFinding(config, allowUnrestricted)
  }
}

function secretFinding(config: Json, allowUnrestricted: boolean): Finding | undefined {
  const policy = networkPolicy(config, { allowUnrestricted, setting: ofAgent })
  const problem = firstSecretProblem(recordOf(config['network']), host => policy?.names(host) === true)
  return problem && finding(`.secrets${problem.path}`, problem.text)
}

function fieldProblem(network: Json, type: unknown): Finding | undefined {
  const unknown = Object.keys(network).find(name => name !== 'type' && name !== 'secrets' && !isLimitedField(name))
  if (unknown !== undefined)
    return finding(`.${unknown.slice(0, 100)}`, `is unknown; known fields: type, secrets, ${limitedFields.join(', ')}`)
  if (type === 'none' && isSet(network['secrets']))
    return finding('.secrets', 'needs config.network.type limited or unrestricted')
  const extra = type === 'limited' ? undefined : limitedFields.find(name => isSet(network[name]))
  return extra && finding(`.${extra}`, 'needs config.network.type limited')
}

const finding = (path: string, problem: string): Finding => ({ field: `config.network${path}`, problem })

const isLimitedField = (name: string): boolean => (limitedFields as readonly string[]).includes(name)

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0)

function firstHostProblem(network: Json): Finding | undefined {
  for (const [at, entry] of listOf(network['allowed_hosts']).entries()) {
    const field = isRecord(entry) ? `.allowed_hosts[${at}].host` : `.allowed_hosts[${at}]`
    const unknown = isRecord(entry)
      ? Object.keys(entry).find(name => !['host', 'ports', 'methods'].includes(name))
      : undefined
    if (unknown !== undefined) {
      const path = `.allowed_hosts[${at}].${unknown.slice(0, 100)}`
      return finding(path, 'is unknown; known fields: host, ports, methods')
    }
    const problem = hostPatternProblem(textOf(isRecord(entry) ? entry['host'] : entry))
    if (problem !== undefined) return finding(field, problem)
  }
  return undefined
}
