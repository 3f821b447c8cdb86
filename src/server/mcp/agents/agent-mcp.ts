import type { McpTool } from '../../../contract/mcp.ts'
import type { Caller, GrantedServer } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { recordOf } from '../../platform/json.ts'
import { namedList } from '../../platform/named-list.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import { type EnabledServer, enabledServers } from '../../tools/mcp-toolset.ts'
import type { ToolResult } from '../../tools/tool.ts'
import type { CallableTool, CallContext, SourceWarning, ToolSource } from '../../tools/tool-source.ts'
import { needsApproval, type RegisteredServer } from '../registry/server.ts'
import type { McpServers } from '../registry/servers.ts'
import { checkUrlServer, serverOfUrl, type UrlCredential, withCredential } from '../registry/url-server.ts'
import type { McpTools } from '../tools/tools.ts'
import { type ResultOptions, toolResult } from './results.ts'
import { createStoredTools, toolFacts } from './stored-tools.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'find'>
  readonly tools: Pick<McpTools, 'offered' | 'accepted' | 'callTool'>
  /** Returns the credential that a session has for the address of a server; undefined without one. */
  readonly credentialFor: (sessionId: string, url: string) => Promise<UrlCredential | undefined>
}

/** Who pays for a run: its key decides which servers and tools the run may use. */
type Payer = Pick<Caller, 'principal' | 'key'>

/** An agent's settings, as far as MCP servers are concerned. */
interface Agent {
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
}

interface RunOf extends ResultOptions {
  readonly agent: Agent
  /** The session whose credentials servers get that the agent names by their address. */
  readonly sessionId: string
  /** Undefined when the key that queued the prompt was revoked, has expired or may only read. */
  readonly payer: () => Promise<Payer | undefined>
}

type CallsOf = Omit<RunOf, 'agent'>

/** A tool of a server that an agent may call, in the form that was accepted. */
interface OfferedTool {
  readonly tool: McpTool
  readonly policy: 'allow' | 'ask'
}

/** The usable tools of one server of an agent. */
interface OfferedServer {
  readonly server: RegisteredServer
  readonly tools: readonly OfferedTool[]
}

/** Time limit of a list: a server that hangs delays a run by no more. */
const listMs = 10_000
/** Time limit of a call, also of one that reports progress. */
const callMs = 10 * 60_000
/** Tools of one server in a run of ours, whose model searches many tools, and of a program, whose model may get all of them. */
const maxRunTools = 1_000
const maxProgramTools = 128
const maxToolBytes = 32 * 1024

/** Tools of MCP servers for the runs of agents. A server that fails costs a run only its own tools. */
export type AgentMcp = ReturnType<typeof createAgentMcp>

export function createAgentMcp({ servers, tools, credentialFor }: Deps) {
  /** Throws `not_found` for a server that does not exist or that the key may not use. */
  async function resolved({ name, url }: Pick<EnabledServer, 'name' | 'url'>, by: Payer): Promise<RegisteredServer> {
    if (url === undefined) return servers.find(name, by)
    const server = serverOfUrl({ name, url })
    checkUrlServer(server, by.key)
    return server
  }

  /** Returns the server with the credential that the session has for its address. */
  async function resolvedIn(sessionId: string, wanted: EnabledServer, by: Payer): Promise<RegisteredServer> {
    const server = await resolved(wanted, by)
    const credential = wanted.url === undefined ? undefined : await credentialFor(sessionId, wanted.url)
    return credential ? withCredential(server, credential) : server
  }

  /** Lists the tools of a server that the agent may call. Throws an AppError. */
  async function offered(
    { wanted, server }: { readonly wanted: EnabledServer; readonly server: RegisteredServer },
    by: Payer,
    { signal, warn, maxTools }: Listing,
  ): Promise<OfferedServer> {
    const list = await withinTime(tools.offered(server, by), { server, signal })
    const usable = list.tools.flatMap((tool): OfferedTool[] => {
      const policy = wanted.policyOf(tool.name)
      if (policy === undefined || policy === 'deny') return []
      return [{ tool, policy: needsApproval(server, tool.name) ? 'ask' : policy }]
    })
    const kept = usable.filter(({ tool }) => JSON.stringify(tool).length <= maxToolBytes).slice(0, maxTools)
    for (const warning of [
      heldWarning(
        server,
        list.held.filter(name => wanted.policyOf(name) !== undefined),
      ),
      leftOutWarning(
        server,
        usable.filter(each => !kept.includes(each)),
        maxTools,
      ),
      missingWarning(
        server,
        wanted.named.filter(name => !isListed(name, list)),
      ),
    ])
      if (warning) warn(warning)
    return { server, tools: kept }
  }

  /** Calls a tool for whoever pays now. Failures of the server are errors with a message for the model. */
  async function called(
    wanted: EnabledServer,
    { payer, sessionId, ...options }: CallsOf,
    call: Called,
  ): Promise<ToolResult> {
    const { context, tool, input } = call
    const by = await payer()
    if (!by) throw new AppError('forbidden', 'the key that queued the prompt was revoked, has expired or may only read')
    const server = await resolvedIn(sessionId, wanted, by)
    const limit = AbortSignal.timeout(callMs)
    const signal = AbortSignal.any([context.signal, limit])
    const work = tools.callTool(server, by, { name: tool, arguments: recordOf(input), signal })
    const result = await untilAborted(work, signal, () =>
      limit.aborted
        ? new AppError('upstream_timeout', `MCP server ${server.server_name} did not finish within ${callMs / 1000} s`)
        : new AppError('upstream_unreachable', 'cancelled'),
    )
    return toolResult(result, { ...options, limits: context.limits })
  }

  function sourceOf(wanted: EnabledServer, calls: CallsOf): ToolSource {
    const name = `MCP server ${wanted.name}`
    return {
      name,
      async list(signal, warn) {
        try {
          const by = await calls.payer()
          // The run ends with its first model request, which reports the reason.
          if (!by) return []
          const server = await resolvedIn(calls.sessionId, wanted, by)
          const { tools: found } = await offered({ wanted, server }, by, { signal, warn, maxTools: maxRunTools })
          return found.map(each =>
            runTool(server, each, (tool, input, context) => called(wanted, calls, { tool, input, context })),
          )
        } catch (error) {
          const message = error instanceof AppError ? error.message : 'internal error of the server'
          warn(failedWarning(name, message))
          throw error instanceof AppError ? error : new Error(message, { cause: error })
        }
      },
    }
  }

  return {
    /** Returns the sources of an agent's MCP tools for one run, one for each server. */
    sources: ({ agent, ...run }: RunOf): ToolSource[] =>
      enabledServers(agent.tools, agent.config).map(server => sourceOf(server, run)),

    /** Returns the servers that a program may use in a run. A server that fails has no tools in it. */
    async granted({ agent, payer, signal }: GrantOf): Promise<Granted> {
      const wanted = enabledServers(agent.tools, agent.config)
      const by = wanted.length === 0 ? undefined : await payer()
      if (!by) return { servers: [], warnings: [] }
      const warnings = wanted.map((): SourceWarning[] => [])
      const lists = await Promise.all(
        wanted.map(async (server, at) => {
          const warn = (warning: SourceWarning): void => void warnings[at]?.push(warning)
          const listing = { signal, warn, maxTools: maxProgramTools }
          const list = resolved(server, by).then(each => offered({ wanted: server, server: each }, by, listing))
          const found = await list.catch((error: unknown) => {
            if (!(error instanceof AppError)) throw error
            warn(failedWarning(`MCP server ${server.name}`, error.message))
          })
          const tools = found?.tools.map(({ tool, policy }) => [tool.name, policy] as const) ?? []
          return { name: found?.server.server_name ?? server.name, url: server.url, tools: Object.fromEntries(tools) }
        }),
      )
      return { servers: lists, warnings: warnings.flat() }
    },

    /**
     * Returns the input schema of an accepted tool of a session's servers; undefined for an unknown one. `name` is `server__tool`, both
     * as they are.
     */
    async inputSchemaOf(name: string, { id, owner_id, tools: given, config }: OfSession) {
      for (const wanted of enabledServers(given, config)) {
        const server = await resolvedIn(id, wanted, { principal: owner_id, key: undefined }).catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'not_found') return undefined
          throw error
        })
        const prefix = `${server?.server_name}__`
        const accepted = server && name.startsWith(prefix) ? await tools.accepted(server) : []
        const tool = accepted.find(each => each.name === name.slice(prefix.length))
        if (tool) return tool.inputSchema
      }
      return undefined
    },

    resolved,

    stored: createStoredTools({ resolved: resolvedIn, accepted: tools.accepted }),
  }
}

interface OfSession extends Agent {
  readonly id: string
  readonly owner_id: string
}

interface GrantOf extends Pick<RunOf, 'agent' | 'payer'> {
  readonly signal: AbortSignal
}

interface Granted {
  readonly servers: readonly GrantedServer[]
  /** For the log of the session. */
  readonly warnings: readonly SourceWarning[]
}

const failedWarning = (name: string, message: string): SourceWarning => ({
  type: 'mcp_server_failed',
  message: `${name} has no tools in this run: ${message}`,
})

interface Listing {
  readonly signal: AbortSignal
  readonly warn: (warning: SourceWarning) => void
  readonly maxTools: number
}

interface Called {
  readonly tool: string
  readonly input: unknown
  readonly context: CallContext
}

function runTool(
  server: RegisteredServer,
  offered: OfferedTool,
  call: (tool: string, input: unknown, context: CallContext) => Promise<ToolResult>,
): CallableTool {
  return { ...toolFacts(server, offered), call: (input, context) => call(offered.tool.name, input, context) }
}

const isListed = (name: string, list: Awaited<ReturnType<McpTools['offered']>>): boolean =>
  list.held.includes(name) || list.tools.some(tool => tool.name === name)

const shown = (names: readonly string[]): string => namedList(names, 20).slice(0, 1_000)

const heldWarning = ({ server_id, server_name }: RegisteredServer, names: readonly string[]) =>
  names.length === 0
    ? undefined
    : {
        type: 'mcp_tools_held',
        message: `new or changed tools of MCP server ${server_name} are not used until an admin accepts them (POST /v1/mcp/server/${server_id}/accept): ${shown(names)}`,
      }

const leftOutWarning = ({ server_name }: RegisteredServer, tools: readonly OfferedTool[], maxTools: number) =>
  tools.length === 0
    ? undefined
    : {
        type: 'mcp_tools_left_out',
        message: `a session uses at most ${maxTools} tools of MCP server ${server_name}, each of at most ${maxToolBytes} bytes; left out: ${shown(tools.map(({ tool }) => tool.name))}`,
      }

const missingWarning = ({ server_name }: RegisteredServer, names: readonly string[]) =>
  names.length === 0
    ? undefined
    : {
        type: 'mcp_tools_missing',
        message: `MCP server ${server_name} does not offer tools that the agent names: ${shown(names)}`,
      }

function withinTime<T>(
  work: Promise<T>,
  { server, signal }: { readonly server: RegisteredServer; readonly signal: AbortSignal },
): Promise<T> {
  const limit = AbortSignal.timeout(listMs)
  return untilAborted(work, AbortSignal.any([signal, limit]), () =>
    limit.aborted
      ? new AppError(
          'upstream_timeout',
          `MCP server ${server.server_name} did not list its tools within ${listMs / 1000} s`,
        )
      : new AppError('upstream_unreachable', 'cancelled'),
  )
}
