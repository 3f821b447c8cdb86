import { isAbsolute } from 'node:path'
import type { StdioCommand } from './agent-settings.ts'
import { type NetworkEntry, networkEntry, networkOfFile } from './network-of-file.ts'
import { type ReportAt, type Shape, text, texts } from './yaml-shape.ts'

type Named = Readonly<Record<string, string | undefined>>

/** Keys of an entry of `mcp_servers` with `transport: stdio`. */
export interface McpProgramEntry {
  readonly transport?: string
  readonly command?: string
  readonly args?: readonly (string | undefined)[]
  readonly env?: Named
  readonly vault_env?: Named
  readonly sandbox?: string
  readonly network?: NetworkEntry
}

export const programKeys: Readonly<Record<string, Shape>> = {
  command: text,
  args: texts,
  env: { kind: 'by name', of: text },
  vault_env: { kind: 'by name', of: text },
  sandbox: text,
  network: networkEntry,
}

/** Keys of servers that are reached over HTTP. */
const httpKeys = ['url', 'auth_type', 'auth_value', 'vault_key', 'static_headers'] as const

interface Checking {
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  readonly reportAt: ReportAt
}

/** Returns the program of a server with `transport: stdio`; undefined for the others. */
export function programOf(entry: McpProgramEntry, { allowUnrestricted, reportAt }: Checking): StdioCommand | undefined {
  if (entry.transport !== 'stdio') {
    const given = Object.keys(programKeys).find(key => key in entry)
    if (given !== undefined) reportAt(`.${given} requires transport stdio`, given)
    return undefined
  }
  const other = httpKeys.find(key => key in entry)
  if (other !== undefined) reportAt(`.${other} is not supported with transport stdio`, other)
  const { sandbox } = entry
  if (sandbox !== undefined && sandbox !== 'none') reportAt('.sandbox must be "none" or omitted', 'sandbox')
  const env = checkedNames(entry, 'env', reportAt)
  const vaultEnv = checkedNames(entry, 'vault_env', reportAt)
  const twice = Object.keys(vaultEnv).find(name => Object.hasOwn(env, name))
  if (twice !== undefined) reportAt(`.vault_env.${twice} is set in env too; remove one`, 'vault_env', twice)
  const command = checkedCommand(entry, reportAt)
  const network = networkOfFile(entry.network, { allowUnrestricted, reportAt })
  if (network && sandbox === 'none')
    reportAt('.network is not supported with sandbox: none, which has the network of the service', 'network')
  return { command, env, vaultEnv, ...(network && { network }), ...(sandbox === 'none' && { isolation: 'none' }) }
}

function checkedCommand({ command, args = [], ...entry }: McpProgramEntry, reportAt: ReportAt): string[] {
  if (command === undefined && !('command' in entry)) reportAt('.command is required with transport stdio')
  if (command !== undefined && command !== 'node' && !isAbsolute(command))
    reportAt('.command must be node or the absolute path of a program', 'command')
  const words = [command ?? '', ...args.filter(word => word !== undefined)]
  if (words.some(word => word.includes('\0'))) reportAt('.command or .args contains a zero byte', 'command')
  return words
}

function checkedNames(entry: McpProgramEntry, field: 'env' | 'vault_env', reportAt: ReportAt): Record<string, string> {
  const given = Object.entries(entry[field] ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  for (const [name, value] of given)
    if (!/^[A-Za-z_]\w*$/.test(name) || value.includes('\0'))
      reportAt(`.${field}.${name} is not a valid environment variable`, field, name)
  return Object.fromEntries(given)
}
