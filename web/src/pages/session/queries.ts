import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

/** What a session is, what it costs and its budget, also after its deletion. */
export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session-summary', sessionId],
    queryFn: () => client.sessions.summary({ params: { session_id: sessionId } }),
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
    queryKey: ['session-approvals', sessionId],
    queryFn: async () => {
      const { approvals } = await client.approvals.list({
        query: { session_id: sessionId, state: 'pending', limit: 200 },
      })
      return approvals
    },
  })

/** Model calls of a session, newest first. */
export const callsQuery = (sessionId: string) =>
  infiniteQueryOptions({
    queryKey: ['session-calls', sessionId],
    queryFn: ({ pageParam }) =>
      client.usage.calls({
        query: { session_id: sessionId, limit: 200, ...(pageParam !== '' && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
  })
