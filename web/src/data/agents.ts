import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Agent, AgentStatus } from '../../../src/contract/agents.ts'
import { client } from './client.ts'
import { live } from './live.ts'
import { newestOf } from './newest.ts'

/** Start of the key of each query about agents; changes of agents invalidate it. */
export const agentsKey = ['agents'] as const

/** One agent in its current version. */
export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: [...agentsKey, 'one', id],
    queryFn: () => client.agents.get({ params: { agent_id: id } }),
    meta: live,
  })

const choiceOf = ({ id, name, description, status, harness }: Agent) => ({ id, name, description, status, harness })

/** Agents for fields that choose one, and for their names: the newest 1,000. */
export const agentChoicesQuery = queryOptions({
  queryKey: [...agentsKey, 'choosable'],
  queryFn: () =>
    newestOf(async query => {
      const { agents, next_cursor: next } = await client.agents.list({ query })
      return { items: agents.map(choiceOf), next }
    }),
  staleTime: 30_000,
})

export interface AgentFilters {
  readonly q?: string | undefined
  readonly status?: AgentStatus | undefined
  readonly runtime?: string | undefined
  readonly model?: string | undefined
}

/** The list of agents with the last session of each. */
export const agentListQuery = (filters: AgentFilters) =>
  infiniteQueryOptions({
    queryKey: [...agentsKey, 'list', filters],
    queryFn: ({ pageParam }) =>
      client.agents.list({
        query: {
          limit: 100,
          include: 'last_session',
          ...(pageParam !== undefined && { cursor: pageParam }),
          ...(filters.q !== undefined && { q: filters.q }),
          ...(filters.status !== undefined && { status: filters.status }),
          ...(filters.runtime !== undefined && { runtime: filters.runtime }),
          ...(filters.model !== undefined && { model: filters.model }),
        },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

/** Runtimes and MCP servers of the service. */
export const capabilitiesQuery = queryOptions({
  queryKey: ['capabilities'],
  queryFn: () => client.system.capabilities(),
  staleTime: 60_000,
})

/** Returns the address that the sender of a webhook calls. */
export const webhookAddressOf = (agentId: string): string => `${window.location.origin}/api/agents/${agentId}/webhook`
