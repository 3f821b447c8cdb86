import { queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

const hourMs = 3_600_000
const days = 7
const maxGroups = 10_000

/** Cost and failures of one agent. */
export interface AgentUse {
  readonly cost_usd: string | null
  readonly requests: number
  readonly failed_requests: number
  readonly unpriced_requests: number
}

/** Cost and failures of all agents in the last seven days, by agent id, in one request. */
export const agentUseQuery = queryOptions({
  queryKey: ['usage', 'by-agent', days],
  queryFn: async () => {
    const from = new Date(Math.floor(Date.now() / hourMs) * hourMs - days * 24 * hourMs).toISOString()
    const { groups } = await client.usage.report({ query: { from, group_by: 'agent', limit: maxGroups } })
    return new Map<string, AgentUse>(groups.map(group => [group.by['agent'] ?? '', group]))
  },
  staleTime: 30_000,
  meta: live,
})
