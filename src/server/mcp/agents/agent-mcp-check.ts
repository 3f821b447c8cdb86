import { setTimeout } from 'node:timers/promises'
import type { Caller } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isRecord, type Json, listOf, recordsOf, textOf } from '../../platform/json.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import { agentServers } from '../../tools/mcp-toolset.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { McpTools } from '../tools/tools.ts'
import type { AgentMcp } from './agent-mcp.ts'

interface Deps {
  readonly agentMcp: Pick<AgentMcp, 'resolved'>
  readonly tools: Pick<McpTools, 'offered'>
  /** The current guard of outbound addresses. */
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
  /** True for a runtime that calls servers by itself: it has no servers of the registry, and their tools are unknown. */
  readonly isRemote: (runtime: string) => Promise<boolean>
}

/** Settings of an agent after a write. The shapes of entries were checked before. */
interface McpSettings {
  readonly tools: unknown
  readonly config: Json
}

/** Which parts a write sets, and where the servers are in its body. */
interface WrittenMcp {
  readonly tools: boolean
  readonly servers: boolean
  /** Path of the servers, such as `config.mcp_servers`. */
  readonly serversField: string
  readonly runtime: string
}

/** Time limit of a list that is read to check the names of tools. */
const listMs = 5_000

/** Checks the MCP servers of an agent that a caller writes. */
export type AgentMcpCheck = ReturnType<typeof createAgentMcpCheck>

export function createAgentMcpCheck({ agentMcp, tools, guard, isRemote }: Deps) {
  /** A key without the role admin may only name public addresses, and no caller may send a credential. Security: S20. */
  function checkUrl(entry: Json, field: string, { role }: Caller): void {
    const fault = (problem: string) => (role === 'admin' ? invalid(problem) : new AppError('forbidden', problem))
    const [extra] = Object.keys(entry).filter(name => !['type', 'name', 'url'].includes(name))
    const url = textOf(entry['url'])
    const advice = 'an admin can register the server with POST /v1/mcp/server, and the agent then names it'
    if (extra !== undefined)
      throw fault(
        `${field}.${extra.slice(0, 100)} is not supported: a server given by URL has no credential; ${advice}`,
      )
    const parsed = URL.parse(url)
    if (parsed && (parsed.username !== '' || parsed.password !== ''))
      throw fault(`${field}.url must not contain a user name or password; ${advice}`)
    if (parsed && role !== 'admin' && guard().lists(url))
      throw fault(`${field}.url must be a public address with https; ${advice}`)
    const problem = blockedReasonFor(url, guard())
    if (problem !== undefined) throw fault(`${field}.url is not allowed: ${problem}`)
    if (url.includes('#')) throw invalid(`${field}.url must not have a fragment`)
  }

  /** Returns the server. Throws `invalid_request` for one that does not exist or that the key may not use. */
  async function serverAt(field: string, place: { name: string; url: string | undefined }, caller: Caller) {
    try {
      return await agentMcp.resolved(place, caller)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error
      throw invalid(`${field} ${JSON.stringify(place.name.slice(0, 100))} is not an MCP server that this key may use`)
    }
  }

  /** Tools of a server that does not answer are not checked; a run then warns about names that do not exist. */
  async function namesOf(server: RegisteredServer, caller: Caller): Promise<readonly string[] | undefined> {
    const late = setTimeout(listMs, undefined, { ref: false })
    const list = tools.offered(server, caller).catch((error: unknown) => {
      if (error instanceof AppError) return undefined
      throw error
    })
    const found = await Promise.race([list, late])
    return found && [...found.tools.map(({ name }) => name), ...found.held]
  }

  async function checkToolset(entry: Json, field: string, { servers, caller }: Checking): Promise<void> {
    const name = textOf(entry['mcp_server_name'])
    const url = servers.find(server => server.name === name)?.url
    const server = await serverAt(`${field}.mcp_server_name`, { name, url }, caller)
    const configs = recordsOf(entry['configs'])
    const names = configs.length === 0 ? undefined : await namesOf(server, caller)
    const wrong = configs.findIndex(config => names?.includes(textOf(config['name'])) === false)
    if (wrong < 0) return
    const shown = JSON.stringify(textOf(configs[wrong]?.['name']).slice(0, 100))
    throw invalid(
      `${field}.configs[${wrong}].name ${shown} is not a tool of MCP server ${name}; its tools are ${(names ?? []).join(', ').slice(0, 1_000) || 'none'}`,
    )
  }

  async function checkServers(entries: readonly unknown[], field: string, { caller, isRemote: isOut }: Where) {
    for (const [at, entry] of entries.entries()) {
      if (isRecord(entry)) {
        checkUrl(entry, `${field}[${at}]`, caller)
        await serverAt(`${field}[${at}].url`, { name: textOf(entry['name']), url: textOf(entry['url']) }, caller)
      } else if (typeof entry === 'string' && !isOut)
        await serverAt(`${field}[${at}]`, { name: entry, url: undefined }, caller)
    }
  }

  /** Throws `invalid_request` or `forbidden`, naming the field, for servers and tools in `written` parts. */
  return async function check({ tools: given, config }: McpSettings, written: WrittenMcp, caller: Caller) {
    if (!written.tools && !written.servers) return
    const where = { caller, isRemote: await isRemote(written.runtime) }
    if (written.servers) await checkServers(listOf(config['mcp_servers']), written.serversField, where)
    if (!written.tools || where.isRemote) return
    for (const { field, entry } of toolsetsIn(given))
      await checkToolset(entry, field, { servers: agentServers(config), caller })
  }
}

/** Returns the entries of `tools` for MCP servers with their paths. */
function toolsetsIn(tools: unknown): { field: string; entry: Json }[] {
  const entries = Array.isArray(tools) ? tools : [tools]
  return entries.flatMap((entry, at) =>
    isRecord(entry) && entry['type'] === 'mcp_toolset'
      ? [{ field: Array.isArray(tools) ? `tools[${at}]` : 'tools', entry }]
      : [],
  )
}

interface Where {
  readonly caller: Caller
  readonly isRemote: boolean
}

interface Checking {
  readonly servers: ReturnType<typeof agentServers>
  readonly caller: Caller
}
