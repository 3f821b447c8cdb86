import { infiniteQueryOptions, type QueryClient } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { usersKey } from '../../parts/user-queries.ts'

export const usersQuery = (q: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...usersKey, 'list', { q }],
    queryFn: ({ pageParam: cursor }) => client.users.list({ query: present({ limit: 100, cursor, q }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

/** Loads everything about users again, after a change. */
export const reloadUsers = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: usersKey })
