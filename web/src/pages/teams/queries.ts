import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { usersKey } from '../../parts/user-queries.ts'

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
  infiniteQueryOptions({
    queryKey: [...all, 'members', id],
    queryFn: ({ pageParam: cursor }) =>
      client.teams.members({ params: { team_id: id }, query: present({ limit: 100, cursor }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

/** Loads everything about teams again, and users with the names of their teams, after a change. */
export async function reloadTeams(queries: QueryClient): Promise<void> {
  await Promise.all([all, usersKey].map(queryKey => queries.invalidateQueries({ queryKey })))
}
