import { createHash } from 'node:crypto'
import { reservedServerNames, serverNamePattern } from '../../contract/mcp.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, recordsOf } from '../platform/json.ts'
import { type ToolPolicy, toolPolicyOf } from './toolset.ts'

/** An entry of an agent's `config.mcp_servers`: the name of a registered server, or an address with a name for it. */
interface AgentServer {
  readonly name: string
  /** Undefined for a registered server. */
  readonly url: string | undefined
}

/** A server whose tools an agent has. */
export interface EnabledServer extends AgentServer {
  /** Tools that the agent's `tools` name. */
  readonly named: readonly string[]
  /** Returns the policy of a tool; undefined when the agent does not have the tool. */
  readonly policyOf: (tool: string) => ToolPolicy | undefined
}

/** Many clients and models allow no longer names of tools. */
const maxNameLength = 64
const hashLength = 8
/** Length of the readable part of a name that ends with a hash. */
export const cutNameLength = maxNameLength - hashLength - 1

/**
 * Returns the name of a tool among those of all servers: `server__tool`. A long one is cut, other characters than
 * letters, digits, `_` and `-` are replaced, and then it ends with a hash.
 */
export function mcpToolName(server: string, tool: string): string {
  const name = `${server}__${tool}`
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${name.slice(0, cutNameLength).replaceAll(/[^A-Za-z0-9_-]/g, '_')}_${hash}`
}

/** Returns the valid entries of an agent's `config.mcp_servers`. */
export function agentServers(config: Json): AgentServer[] {
  return listOf(config['mcp_servers']).flatMap((entry): AgentServer[] => {
    if (typeof entry === 'string') return [{ name: entry, url: undefined }]
    const { name, url } = recordOf(entry)
    return typeof name === 'string' && typeof url === 'string' ? [{ name, url }] : []
  })
}

/** Returns the entries of an agent's `tools` for MCP servers; undefined when `tools` names no tools at all. */
function toolsetsIn(tools: unknown): Json[] | undefined {
  const isEntry = isRecord(tools) && typeof tools['type'] === 'string'
  const entries = isEntry ? [tools] : listOf(tools)
  if (entries.length === 0) return undefined
  return recordsOf(entries).filter(({ type, mcp_server_name: name }) => type === 'mcp_toolset' && nonEmptyText(name))
}

/**
 * Returns the servers whose tools an agent has: with entries in its `tools`, those that an `mcp_toolset` names, which may
 * also be a registered server that `config.mcp_servers` does not list; otherwise all of `config.mcp_servers`. The last
 * of several entries for one server applies.
 */
export function enabledServers(tools: unknown, config: Json): EnabledServer[] {
  const servers = agentServers(config)
  const toolsets = toolsetsIn(tools)
  if (!toolsets) return servers.map(server => ({ ...server, named: [], policyOf: () => 'allow' }))
  const byName = new Map(toolsets.map(entry => [String(entry['mcp_server_name']), entry]))
  return [...byName].map(([name, entry]) => ({
    name,
    url: servers.find(server => server.name === name)?.url,
    ...settingsOf(entry),
  }))
}

function settingsOf(entry: Json): Pick<EnabledServer, 'named' | 'policyOf'> {
  const common = recordOf(entry['default_config'])
  const configs = new Map(recordsOf(entry['configs']).map(config => [String(config['name']), config]))
  return {
    named: [...configs.keys()],
    policyOf(tool) {
      const places = [recordOf(configs.get(tool)), common]
      const setting = (field: string) => places.map(place => place[field]).find(value => isGiven(value))
      if (setting('enabled') === false) return undefined
      const policy = setting('permission_policy')
      // An unknown policy means `ask`, because its author wanted some restriction.
      return policy === undefined ? 'allow' : (toolPolicyOf(policy) ?? 'ask')
    },
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** A problem of an entry, worded to follow `field`, which is a path within the entry. */
interface EntryProblem {
  readonly field: string
  readonly problem: string
}

/**
 * Returns the first problem of an entry of `config.mcp_servers`; undefined for a valid one. `others` are the names of the
 * entries before it.
 */
export function serverEntryProblem(entry: unknown, others: readonly string[]): EntryProblem | undefined {
  const name = isRecord(entry) ? entry['name'] : entry
  const field = isRecord(entry) ? '.name' : ''
  if (typeof name !== 'string' || name === '')
    return {
      field,
      problem: 'must be the name of a registered MCP server, or {"type": "url", "name": ..., "url": ...}',
    }
  if (isRecord(entry) && isGiven(entry['type']) && entry['type'] !== 'url')
    return { field: '.type', problem: 'must be url' }
  if (isRecord(entry) && !new RegExp(serverNamePattern).test(name))
    return { field, problem: 'must have 1 to 64 letters, digits, _ or -' }
  if (isRecord(entry) && reservedServerNames.includes(name.toLowerCase()))
    return { field, problem: `${name} is reserved; choose another name` }
  if (isRecord(entry) && typeof entry['url'] !== 'string') return { field: '.url', problem: 'is required' }
  if (others.includes(name)) return { field, problem: `${name} is already used by another entry` }
  return others.length < maxAgentServers
    ? undefined
    : { field: '', problem: `is one too many: an agent may have at most ${maxAgentServers} MCP servers` }
}

const maxAgentServers = 20
