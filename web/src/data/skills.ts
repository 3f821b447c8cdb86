import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { live } from './live.ts'
import { newestOf } from './newest.ts'

/** Start of the key of each query about skills; changes of skills and of their copies invalidate it. */
export const skillsKey = ['skills'] as const

/** The library, newest first. */
export const skillListQuery = infiniteQueryOptions({
  queryKey: [...skillsKey, 'list'],
  queryFn: ({ pageParam }) =>
    client.skills.list({ query: { limit: 200, ...(pageParam !== undefined && { cursor: pageParam }) } }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: page => page.next_cursor ?? undefined,
  meta: live,
})

/** Skills for fields that choose one: the newest 1,000. */
export const skillChoicesQuery = queryOptions({
  queryKey: [...skillsKey, 'choices'],
  queryFn: () =>
    newestOf(async query => {
      const { data, next_cursor: next } = await client.skills.list({ query })
      return { items: data.map(({ id, name }) => ({ id, name })), next }
    }),
  staleTime: 30_000,
})

/** An agent's copy of a skill next to the library. */
export const copyQuery = (skillId: string, agentId: string) =>
  queryOptions({
    queryKey: [...skillsKey, 'copy', skillId, agentId],
    queryFn: () => client.skills.compare({ params: { skill_id: skillId, agent_id: agentId } }),
  })
