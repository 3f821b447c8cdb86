import { networkPresets } from '../../contract/network-presets.ts'
import { hostPatternProblem } from '../platform/host-pattern.ts'
import { flag, type ReportAt, type Shape, text, texts } from './yaml-shape.ts'

/** Network of a sandbox in the file, with the fields of `config.network` of agents that do not depend on an agent. */
export interface NetworkEntry {
  readonly type?: string
  readonly allowed_hosts?: readonly (HostEntry | string | undefined)[]
  readonly presets?: readonly (string | undefined)[]
  readonly allow_package_managers?: boolean
}

interface HostEntry {
  readonly host?: string
  readonly ports?: readonly (number | undefined)[]
  readonly methods?: readonly (string | undefined)[]
}

const hostEntry: Shape = {
  kind: 'block',
  orWord: true,
  keys: { host: text, ports: { kind: 'list', of: { kind: 'whole', min: 1 } }, methods: texts },
}

export const networkEntry: Shape = {
  kind: 'block',
  keys: {
    type: text,
    allowed_hosts: { kind: 'list', of: hostEntry },
    presets: texts,
    allow_package_managers: flag,
  },
}

interface Options {
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  readonly reportAt: ReportAt
}

/** Returns a checked `network`; undefined for none. */
export function networkOfFile(
  entry: NetworkEntry | undefined,
  { allowUnrestricted, reportAt }: Options,
): Readonly<Record<string, unknown>> | undefined {
  if (!entry) return undefined
  checkType(entry, { allowUnrestricted, reportAt })
  for (const [at, host] of (entry.allowed_hosts ?? []).entries()) {
    const path = ['network', 'allowed_hosts', at] as const
    if (host !== undefined)
      checkHost(host, (problem, ...within) => reportAt(`.network.allowed_hosts[${at}]${problem}`, ...path, ...within))
  }
  for (const [at, name] of (entry.presets ?? []).entries())
    if (name !== undefined && !networkPresets.some(preset => preset === name))
      reportAt(`.network.presets[${at}] must be one of ${networkPresets.join(', ')}`, 'network', 'presets', at)
  return entry.type === 'none' ? undefined : { ...entry }
}

function checkType({ type, ...limited }: NetworkEntry, { allowUnrestricted, reportAt }: Options): void {
  const [extra] = Object.keys(limited)
  if (type !== 'none' && type !== 'limited' && type !== 'unrestricted')
    reportAt('.network.type must be none, limited or unrestricted', 'network')
  else if (type !== 'limited' && extra !== undefined)
    reportAt(`.network.${extra} needs network.type limited`, 'network', extra)
  if (type === 'unrestricted' && !allowUnrestricted)
    reportAt('.network.type unrestricted needs limits.allow_unrestricted_egress: true', 'network', 'type')
}

function checkHost(entry: HostEntry | string, reportAt: ReportAt): void {
  const { host, ports = [], methods = [] } = typeof entry === 'string' ? { host: entry } : entry
  const path = typeof entry === 'string' ? [] : ['host']
  const problem = host === undefined ? 'is required' : hostPatternProblem(host)
  if (problem !== undefined) reportAt(`${path.map(name => `.${name}`).join('')} ${problem}`, ...path)
  if (ports.some(port => port !== undefined && port > 65_535)) reportAt('.ports must be from 1 to 65535', 'ports')
  if (methods.some(method => method !== undefined && !/^[A-Za-z-]{1,20}$/.test(method)))
    reportAt('.methods must be HTTP methods such as GET', 'methods')
}
