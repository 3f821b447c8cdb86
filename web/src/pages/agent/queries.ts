import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

/** What the model gets in a new session of a version. */
export const contextQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: [...agentsKey, 'context', id, version],
    queryFn: () => client.agents.context({ params: { agent_id: id } }),
    placeholderData: before => before,
  })

export const versionsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...agentsKey, 'versions', id],
    queryFn: ({ pageParam }) =>
      client.agents.versions({
        params: { agent_id: id },
        query: { limit: 50, ...(pageParam !== undefined && { cursor: pageParam }) },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
  })

export const versionDiffQuery = (id: string, { from, to }: { readonly from: number; readonly to: number }) =>
  queryOptions({
    queryKey: [...agentsKey, 'diff', id, from, to],
    queryFn: () => client.agents.diff({ params: { agent_id: id, version: from }, query: { to } }),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const attachedSkillsQuery = (id: string, version: number) =>
  queryOptions({
    queryKey: [...agentsKey, 'skills', id, version],
    queryFn: () => client.skills.carried({ params: { agent_id: id } }),
    placeholderData: before => before,
  })

export const agentSchedulesQuery = (id: string) =>
  queryOptions({
    queryKey: ['schedules', 'of-agent', id],
    queryFn: () => client.schedules.list({ query: { agent_id: id, limit: 200 } }),
    meta: live,
  })

/** The accepted tools of one MCP server. */
export const mcpToolsQuery = (server: string) =>
  queryOptions({
    queryKey: [...agentsKey, 'mcp-tools', server],
    queryFn: () => client.mcp.tools({ query: { server_id: server } }),
    staleTime: 60_000,
  })
