import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

/** Filters of the list, as in the address. */
export interface KeyFilters {
  readonly q?: string | undefined
  readonly owner?: string | undefined
  readonly user?: string | undefined
  readonly revoked?: string | undefined
}

const all = ['keys'] as const

export const keysQuery = ({ q, owner, user, revoked }: KeyFilters) =>
  infiniteQueryOptions({
    queryKey: [...all, 'list', { q, owner, user, revoked }],
    queryFn: ({ pageParam: cursor }) =>
      client.keys.list({
        query: present({
          limit: 100,
          cursor,
          q,
          owner_id: owner,
          user_id: user,
          include_revoked: revoked === '1' || undefined,
        }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

export const keyQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'one', id],
    queryFn: () => client.keys.get({ params: { key_id: id } }),
    meta: live,
  })

/** Keys that the key created, revoked ones too. */
export const childrenQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'children', id],
    queryFn: () => client.keys.list({ query: { parent_id: id, limit: 200, include_revoked: true } }),
  })

/** Teams that a key may act as. */
export const teamsOfKeysQuery = queryOptions({
  queryKey: [...all, 'teams'],
  queryFn: () => client.teams.list({ query: { limit: 200 } }),
})

/** Loads everything about keys again, after a change. */
export const reloadKeys = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all })
