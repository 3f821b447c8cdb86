import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

const all = ['users'] as const

export const usersQuery = (q: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...all, 'list', { q }],
    queryFn: ({ pageParam: cursor }) => client.users.list({ query: present({ limit: 100, cursor, q }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

export const userQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'one', id],
    queryFn: () => client.users.get({ params: { user_id: id } }),
    meta: live,
  })

/** Loads everything about users again, after a change. */
export const reloadUsers = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all })
