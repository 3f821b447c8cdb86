import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { McpCallOutcome } from '../../../../src/contract/mcp-calls.ts'
import { client } from '../../data/client.ts'
import { mcpServersQuery } from '../../data/lists.ts'
import { live } from '../../data/live.ts'

/** All servers that the caller may use. */
export const serversQuery = queryOptions({ ...mcpServersQuery, staleTime: 2000, meta: live })

/** Calls of the last 30 days by server. */
export const totalsQuery = queryOptions({
  queryKey: ['mcp', 'totals'],
  queryFn: () => client.mcpCalls.summary({ query: { group_by: 'server' } }),
  meta: live,
})

/** Stored tool lists of a server; for administrators. */
export const toolListsQuery = (serverId: string) =>
  queryOptions({
    queryKey: ['mcp', 'tool-lists', serverId],
    queryFn: () => client.mcp.toolLists({ params: { server_id: serverId } }),
  })

/** Tools that the caller may call. The service asks the server for its list. */
export const toolsQuery = (serverId: string) =>
  queryOptions({
    queryKey: ['mcp', 'tools', serverId],
    queryFn: async () => (await client.mcp.tools({ query: { server_id: serverId } })).tools,
    staleTime: 60_000,
    retry: false,
  })

export interface CallFilters {
  readonly server?: string | undefined
  readonly tool?: string | undefined
  readonly outcome?: McpCallOutcome | undefined
}

/** The log of calls, newest first. */
export const callsQuery = ({ server, tool, outcome }: CallFilters) =>
  infiniteQueryOptions({
    queryKey: ['mcp', 'calls', server, tool, outcome],
    queryFn: ({ pageParam }) =>
      client.mcpCalls.list({
        query: {
          limit: 100,
          ...(server && { server }),
          ...(tool && { tool }),
          ...(outcome && { outcome }),
          ...(pageParam && { cursor: pageParam }),
        },
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    meta: live,
  })
