import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

const all = ['teams'] as const

export const teamsQuery = (q: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...all, 'list', { q }],
    queryFn: ({ pageParam: cursor }) => client.teams.list({ query: present({ limit: 100, cursor, q }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

export const teamQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'one', id],
    queryFn: () => client.teams.get({ params: { team_id: id } }),
    meta: live,
  })

export const membersQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'members', id],
    queryFn: () => client.teams.members({ params: { team_id: id }, query: { limit: 200 } }),
    meta: live,
  })

/** Users whose name, email or owner contains the text. */
export const foundUsersQuery = (q: string) =>
  queryOptions({
    queryKey: [...all, 'users', q],
    queryFn: () => client.users.list({ query: { q, limit: 20 } }),
  })

/** Loads everything about teams again, after a change. */
export const reloadTeams = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all })
