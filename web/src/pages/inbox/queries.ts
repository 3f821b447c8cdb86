import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

/** Approvals that wait, the oldest first, or the history, the newest first. */
export const approvalsQuery = (isOpen: boolean, agent: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['approvals', isOpen, agent],
    queryFn: ({ pageParam }) =>
      client.approvals.list({
        query: present({
          is_open: isOpen,
          order: isOpen ? ('asc' as const) : ('desc' as const),
          agent_id: agent,
          cursor: pageParam,
          limit: isOpen ? 20 : 50,
        }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })
