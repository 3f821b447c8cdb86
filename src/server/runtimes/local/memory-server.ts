import { memoryRoutes } from '../../../contract/memories.ts'
import { memoryTools, toolsFor } from '../../tools/toolset.ts'
import type { RunSession } from '../runtime.ts'

/**
 * Name of our MCP server in programs, which prefix its tools with it. No `_`: Gemini CLI splits names at the first one.
 */
export const memoryServer = 'switchyard'

/** Memory tools that a program may use for its session. */
export interface GrantedMemories {
  readonly agentId: string
  /** Policy by tool name. */
  readonly tools: Readonly<Record<string, 'allow' | 'ask'>>
}

/** Returns the memory tools that the built-in runtime would give the session; undefined when there are none. */
export function grantedMemories({
  agent_id,
  tools,
}: Pick<RunSession, 'agent_id' | 'tools'>): GrantedMemories | undefined {
  if (agent_id === '') return undefined
  const granted = toolsFor(tools).tools.flatMap(({ tool, policy }) =>
    policy === 'deny' || !memoryTools.some(({ name }) => name === tool.name) ? [] : [[tool.name, policy] as const],
  )
  return granted.length === 0 ? undefined : { agentId: agent_id, tools: Object.fromEntries(granted) }
}

/** Returns address and headers of the memory server for a program; they work while a run is granted. */
export function memoryServerAt(
  { gatewayUrl, gatewayKey }: { readonly gatewayUrl: string; readonly gatewayKey: string },
  { agentId }: GrantedMemories,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  return {
    url: gatewayUrl + memoryRoutes.mcp.path.replace('{agent_id}', encodeURIComponent(agentId)),
    headers: { Authorization: `Bearer ${gatewayKey}` },
  }
}
