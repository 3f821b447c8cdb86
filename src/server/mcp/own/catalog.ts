import type { Agents } from '../../agents/agents.ts'
import type { Caller } from '../../http/caller.ts'
import { pageOf } from '../../http/page.ts'
import { type Json, nonEmptyText, textOf } from '../../platform/json.ts'
import type { ToolRule } from '../registry/server.ts'
import { agentTool, agentToolName, resultSchema } from './agent-tools.ts'
import { readTools } from './read-tools.ts'

const agentsPerPage = 100

/** Tool that returns the result of an earlier call. */
export const resultTool = {
  name: 'get_result',
  description:
    'Returns the result of the newest prompt of a session, or its state while it runs; for calls of agents whose answer did not arrive',
  inputSchema: {
    type: 'object',
    properties: { session_id: { type: 'string' } },
    required: ['session_id'],
    additionalProperties: false,
  },
  outputSchema: resultSchema,
  annotations: { readOnlyHint: true, openWorldHint: false },
} as const

/** True if a key may see and call a tool. Lists of keys name an agent by its tool or by its id, which stays when the agent is renamed. */
export const isListed = (rule: ToolRule, toolName: string, agentId: string | undefined): boolean =>
  !rule || rule(toolName) || (agentId !== undefined && rule(agentId))

interface Listing {
  readonly cursor: unknown
  readonly caller: Caller
  readonly rule: ToolRule
}

/** Returns a page of the tools: the reads of the API first, then the active agents of the caller, newest first. */
export async function listedTools(
  agents: Pick<Agents, 'list'>,
  { cursor: given, caller, rule }: Listing,
): Promise<Json> {
  const cursor = nonEmptyText(given)
  const { items, next_cursor } = await pageOf(
    { limit: agentsPerPage, ...(cursor !== undefined && { cursor }) },
    page => agents.list(undefined, caller, page),
    ({ id }) => id,
  )
  const reads = cursor === undefined ? [resultTool, ...readTools] : []
  const active = items.filter(agent => agent.status === 'active' && isListed(rule, agentToolName(agent), agent.id))
  return {
    tools: [...reads.filter(({ name }) => isListed(rule, textOf(name), undefined)), ...active.map(agentTool)],
    ...(next_cursor !== null && { nextCursor: next_cursor }),
  }
}
