import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

export const statuses = ['pending', 'running', 'idle', 'error'] as const

/** Parameters of the page. */
export type SessionFilter = 'status' | 'agent' | 'q' | 'owner' | 'deleted'
export type Filters = Readonly<Partial<Record<SessionFilter, string>>>

const pageSize = 50

/** The list of sessions, newest first. */
export const sessionsQuery = ({ status, agent, q, owner, deleted }: Filters) =>
  infiniteQueryOptions({
    queryKey: ['sessions', { status, agent, q, owner, deleted }],
    queryFn: ({ pageParam }) =>
      client.sessions.summaries({
        query: present({
          limit: pageSize,
          cursor: pageParam,
          status: statuses.find(each => each === status),
          agent_id: agent,
          owner_id: owner,
          q,
          include_deleted: deleted === '1' ? true : undefined,
        }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })
