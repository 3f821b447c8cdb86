import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { ApiError } from '../../../../src/client/index.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

/** Keys of everything that is loaded for one session begin with this. */
export const sessionKey = (sessionId: string) => ['session', sessionId] as const

/** The record of a session, also of a deleted one whose log is still readable. */
export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: [...sessionKey(sessionId), 'record'],
    queryFn: () => client.sessions.managedGet({ params: { session_id: sessionId } }),
    meta: live,
  })

export const agentQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['agents', 'one', agentId],
    queryFn: () => client.agents.get({ params: { agent_id: agentId } }),
    staleTime: 60_000,
  })

/** Approvals of a session that wait. Their digests and expiry are not in its log. */
export const approvalsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: [...sessionKey(sessionId), 'approvals'],
    queryFn: async () => {
      const { approvals } = await client.approvals.list({
        query: { session_id: sessionId, state: 'pending', limit: 200 },
      })
      return approvals
    },
  })

/** Cost and calls of a session in its whole life. */
export const costQuery = (sessionId: string, createdMs: number) =>
  queryOptions({
    queryKey: [...sessionKey(sessionId), 'cost'],
    queryFn: async () => {
      const from = new Date(createdMs - 1000).toISOString()
      const { totals } = await client.usage.report({ query: { session_id: sessionId, from } })
      return totals
    },
    meta: live,
  })

/** Model calls of a session, newest first. */
export const callsQuery = (sessionId: string) =>
  infiniteQueryOptions({
    queryKey: [...sessionKey(sessionId), 'calls'],
    queryFn: ({ pageParam }) =>
      client.usage.calls({
        query: { session_id: sessionId, limit: 200, ...(pageParam !== '' && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
  })

/** The budget of a session; null without one. For administrators. */
export const budgetQuery = (sessionId: string, isAdmin: boolean) =>
  queryOptions({
    queryKey: [...sessionKey(sessionId), 'budget'],
    queryFn: async () => {
      try {
        return await client.budgets.get({ params: { scope: 'session', scope_id: sessionId } })
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      }
    },
    enabled: isAdmin,
    staleTime: 30_000,
  })

export const modelsQuery = queryOptions({
  queryKey: ['models', 'ids'],
  queryFn: async () => (await client.models.list()).data.map(({ id }) => id),
  staleTime: 60_000,
})
