import { queryOptions } from '@tanstack/react-query'
import { client } from '../data/client.ts'
import { live } from '../data/live.ts'

/** Key of every query about users. */
export const usersKey = ['users'] as const

export const userQuery = (id: string) =>
  queryOptions({
    queryKey: [...usersKey, 'one', id],
    queryFn: () => client.users.get({ params: { user_id: id } }),
    meta: live,
  })

/** Users whose name, email or owner contains the text. */
export const foundUsersQuery = (q: string) =>
  queryOptions({
    queryKey: [...usersKey, 'found', q],
    queryFn: () => client.users.list({ query: { q, limit: 20 } }),
  })
