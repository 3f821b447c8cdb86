import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

const staleTime = 60_000

/** Models that the person may call, with their windows and prices. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: () => client.models.list(),
  staleTime,
})

/** Names of the models that the person may call, for choices in forms. */
export const modelNames = queryOptions({
  ...modelsQuery,
  select: ({ data }) => data.map(({ id }) => id),
})

/** MCP servers that the person may use. */
export const mcpServersQuery = queryOptions({
  queryKey: ['mcp', 'servers'],
  queryFn: () => client.mcp.list(),
  staleTime,
})

/** Runtimes with the tools of their agents, and facts that only built-in ones have, such as the address of their vendor. */
export const agentRuntimesQuery = queryOptions({
  queryKey: ['runtimes', 'of-agents'],
  queryFn: async () => (await client.agentRuntimes.list()).runtimes,
  staleTime,
})
