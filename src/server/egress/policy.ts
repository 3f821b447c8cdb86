import type { Json } from '../platform/json.ts'
import { isRecord, listOf, recordOf, recordsOf, textOf } from '../platform/json.ts'
import type { NetworkSetting } from './inner-host.ts'
import type { Place } from './place.ts'
import { presetHosts } from './presets.ts'
import { type BoundSecret, boundSecrets } from './secrets.ts'

/** What a sandbox wants to reach. */
export interface Target extends Place {
  /** Undefined for a connection whose requests are not known yet, or not seen. */
  readonly method: string | undefined
}

/** Decides which hosts a sandbox may reach. */
export interface NetworkPolicy {
  /** Returns why a target is denied, with the field to change; undefined if it is allowed. */
  denial(target: Target): string | undefined
  /** True for a host of which some port is allowed. */
  names(host: string): boolean
  /** True when the proxy must see the requests to an allowed place, because it has secrets or rules for methods. */
  intercepts(place: Place): boolean
  /** True if `intercepts` can be true. */
  readonly hasIntercepted: boolean
  /** Returns the secrets that requests to a host get. */
  secretsFor(host: string): readonly BoundSecret[]
}

interface Rule {
  /** A host name, or `*.` and a domain for all names below it. */
  readonly host: string
  readonly ports: readonly number[]
  /** Undefined: all. */
  readonly methods: readonly string[] | undefined
}

const defaultPorts: readonly number[] = [80, 443]

/** The network of an agent. */
export const ofAgent: NetworkSetting = { field: 'config.network', owner: 'this agent' }

interface Settings {
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  /** Where the network is set, for messages. */
  readonly setting: NetworkSetting
}

/** Returns the policy of `config.network`, which has been checked; undefined when there is none. */
export function networkPolicy(config: Json, { allowUnrestricted, setting }: Settings): NetworkPolicy | undefined {
  const network = recordOf(config['network'])
  const secrets = boundSecrets(network)
  if (network['type'] === 'unrestricted') return allowUnrestricted ? unrestricted(secrets) : forbidden(setting)
  if (network['type'] !== 'limited') return undefined
  return limited(rulesOf(network, config), secrets, setting)
}

function unrestricted(secrets: readonly BoundSecret[]): NetworkPolicy {
  const secretsFor = (host: string) => secrets.filter(secret => secret.host === host)
  return {
    denial: () => undefined,
    names: () => true,
    intercepts: ({ host }) => secretsFor(host).length > 0,
    hasIntercepted: secrets.length > 0,
    secretsFor,
  }
}

/** For agents that were stored before the operator changed the setting. */
const forbidden = ({ field }: NetworkSetting): NetworkPolicy => ({
  denial: () => `${field}.type unrestricted needs limits.allow_unrestricted_egress in the configuration`,
  names: () => false,
  intercepts: () => false,
  hasIntercepted: false,
  secretsFor: () => [],
})

function limited(
  rules: readonly Rule[],
  secrets: readonly BoundSecret[],
  { field, owner }: NetworkSetting,
): NetworkPolicy {
  const list = `${field}.allowed_hosts`
  const about = (host: string) => rules.filter(rule => matches(rule.host, host))
  const { secretsFor } = unrestricted(secrets)
  return {
    hasIntercepted: secrets.length > 0 || rules.some(({ methods }) => methods !== undefined),
    secretsFor,
    names: host => about(host).length > 0,
    intercepts({ host, port }) {
      const open = about(host).filter(({ ports }) => ports.includes(port))
      return secretsFor(host).length > 0 || open.every(({ methods }) => methods !== undefined)
    },
    denial({ host, port, method }) {
      const named = about(host)
      if (named.length === 0) return `${host} is not in ${list} of ${owner}`
      const open = named.filter(rule => rule.ports.includes(port))
      if (open.length === 0) return `port ${port} of ${host} is not in ${list} of ${owner}`
      if (method === undefined || open.some(({ methods }) => methods?.includes(method) ?? true)) return undefined
      return `method ${method} to ${host} is not in ${list} of ${owner}`
    },
  }
}

const matches = (pattern: string, host: string): boolean =>
  pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1 : host === pattern

function rulesOf(network: Json, config: Json): Rule[] {
  const presets = listOf(network['presets']).map(textOf)
  const names = network['allow_package_managers'] === true ? [...presets, 'packages'] : presets
  const servers = network['allow_mcp_servers'] === true ? recordsOf(config['mcp_servers']) : []
  return [
    ...listOf(network['allowed_hosts']).map(ruleOf),
    ...names.flatMap(presetHosts).map(ruleOf),
    ...servers.flatMap(server => ruleOfUrl(textOf(server['url']))),
  ]
}

function ruleOf(entry: unknown): Rule {
  const { host, ports, methods } = isRecord(entry) ? entry : { host: entry, ports: undefined, methods: undefined }
  return {
    host: textOf(host)
      .toLowerCase()
      .replace(/^\[|\]$/g, ''),
    ports: Array.isArray(ports) ? ports.map(Number) : defaultPorts,
    methods: Array.isArray(methods) ? methods.map(method => textOf(method).toUpperCase()) : undefined,
  }
}

function ruleOfUrl(url: string): Rule[] {
  const parsed = URL.parse(url)
  if (!parsed) return []
  const port = Number(parsed.port) || (parsed.protocol === 'https:' ? 443 : 80)
  return [{ host: parsed.hostname, ports: [port], methods: undefined }]
}
