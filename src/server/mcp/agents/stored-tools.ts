import type { McpTool } from '../../../contract/mcp.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, recordOf } from '../../platform/json.ts'
import { type EnabledServer, enabledServers, mcpToolName } from '../../tools/mcp-toolset.ts'
import { failureResult } from '../../tools/tool.ts'
import type { CallableTool } from '../../tools/tool-source.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'
import { needsApproval, type RegisteredServer, toolRuleOf } from '../registry/server.ts'
import type { McpTools } from '../tools/tools.ts'

interface Deps {
  /** Throws `not_found` for a server that does not exist or that the key may not use. */
  readonly resolved: (sessionId: string, wanted: EnabledServer, by: By) => Promise<RegisteredServer>
  readonly accepted: McpTools['accepted']
}

type By = Pick<Caller, 'principal' | 'key'>

interface StoredOf {
  /** Id of the session. */
  readonly id: string
  readonly tools: unknown
  readonly config: Readonly<Record<string, unknown>>
}

interface StoredTools {
  /** Also those that a policy denies. They cannot be called. */
  readonly tools: readonly CallableTool[]
  /** Why tools of servers are missing. */
  readonly notes: readonly string[]
}

/** Characters of a description for the model. */
const maxDescription = 10_000

/** Returns the facts of a tool for the model. The server's own statements decide whether calls may be repeated or run in parallel. */
export function toolFacts(
  { server_name: server }: Pick<RegisteredServer, 'server_name'>,
  { tool, policy }: { readonly tool: McpTool; readonly policy: ToolPolicy },
): Omit<CallableTool, 'call'> {
  const { annotations }: Json = tool
  const { readOnlyHint, idempotentHint } = recordOf(annotations)
  const reads = readOnlyHint === true
  return {
    name: mcpToolName(server, tool.name),
    description: (tool.description ?? '').slice(0, maxDescription).toWellFormed(),
    inputSchema: { ...tool.inputSchema, type: 'object' },
    policy,
    reads,
    idempotent: reads || idempotentHint === true,
    mcp: { server, tool: tool.name },
  }
}

/** Returns a function that lists the tools of an agent's servers without asking these: those of the last accepted lists. */
export function createStoredTools({ resolved, accepted }: Deps) {
  async function ofServer(sessionId: string, wanted: EnabledServer, by: By): Promise<StoredTools> {
    const server = await resolved(sessionId, wanted, by)
    const listed = await accepted(server)
    if (listed.length === 0)
      return { tools: [], notes: [`the tools of MCP server ${wanted.name} are unknown until it has listed them once`] }
    const rule = toolRuleOf(server, by.key)
    const tools = listed.flatMap((tool): CallableTool[] => {
      const chosen = wanted.policyOf(tool.name)
      if (chosen === undefined || rule?.(tool.name) === false) return []
      const policy = chosen === 'allow' && needsApproval(server, tool.name) ? 'ask' : chosen
      return [{ ...toolFacts(server, { tool, policy }), call: async () => failureResult('not called') }]
    })
    return { tools, notes: [] }
  }

  return async ({ id, tools, config }: StoredOf, by: By): Promise<StoredTools> => {
    const lists = await Promise.all(
      enabledServers(tools, config).map(wanted =>
        ofServer(id, wanted, by).catch((error: unknown): StoredTools => {
          if (!(error instanceof AppError)) throw error
          return { tools: [], notes: [`MCP server ${wanted.name} has no tools: ${error.message}`] }
        }),
      ),
    )
    return { tools: lists.flatMap(list => list.tools), notes: lists.flatMap(({ notes }) => notes) }
  }
}
