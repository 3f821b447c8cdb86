import { memoryRoutes } from '../../../contract/memories.ts'
import { memoryTools, toolsFor } from '../../tools/toolset.ts'
import type { RunSession } from '../runtime.ts'

/** How programs know our MCP server; they put it in front of its tools. Gemini CLI splits such names at the first `_`. */
export const memoryServer = 'switchyard'

/** The memories that a program is given for its session. */
export interface LentMemories {
  readonly agentId: string
  /** What is done when it calls a tool, by the tool's name. */
  readonly tools: Readonly<Record<string, 'allow' | 'ask'>>
}

/** The memory tools that the built-in runtime would give the session; undefined without any. */
export function lentMemories({ agent_id, tools }: Pick<RunSession, 'agent_id' | 'tools'>): LentMemories | undefined {
  if (agent_id === '') return undefined
  const lent = toolsFor(tools).tools.flatMap(({ tool, policy }) =>
    policy === 'deny' || !memoryTools.some(({ name }) => name === tool.name) ? [] : [[tool.name, policy] as const],
  )
  return lent.length === 0 ? undefined : { agentId: agent_id, tools: Object.fromEntries(lent) }
}

/** Where a program finds the server, and what opens it while a run is lent. */
export function memoryServerAt(
  { gatewayUrl, gatewayKey }: { readonly gatewayUrl: string; readonly gatewayKey: string },
  { agentId }: LentMemories,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  return {
    url: gatewayUrl + memoryRoutes.mcp.path.replace('{agent_id}', encodeURIComponent(agentId)),
    headers: { Authorization: `Bearer ${gatewayKey}` },
  }
}
