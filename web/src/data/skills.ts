import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Skill } from '../../../src/contract/skills.ts'
import { client } from './client.ts'
import { live } from './live.ts'

/** Start of the key of each query about skills; changes of skills and of their copies invalidate it. */
export const skillsKey = ['skills'] as const

const pageSize = 200
const maxListed = 1000

/** The library, newest first. */
export const skillListQuery = infiniteQueryOptions({
  queryKey: [...skillsKey, 'list'],
  queryFn: ({ pageParam }) =>
    client.skills.list({ query: { limit: pageSize, ...(pageParam !== undefined && { cursor: pageParam }) } }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: page => page.next_cursor ?? undefined,
  meta: live,
})

/** Skills for fields that choose one: the newest 1,000. */
export const skillChoicesQuery = queryOptions({
  queryKey: [...skillsKey, 'choices'],
  queryFn: async () => {
    const found: Skill[] = []
    for (let cursor: string | null | undefined; cursor !== null && found.length < maxListed; ) {
      const query = { limit: pageSize, ...(cursor !== undefined && { cursor }) }
      const page = await client.skills.list({ query })
      found.push(...page.data)
      cursor = page.next_cursor
    }
    return found.map(({ id, name }) => ({ id, name }))
  },
  staleTime: 30_000,
})

/** An agent's copy of a skill next to the library. */
export const copyQuery = (skillId: string, agentId: string) =>
  queryOptions({
    queryKey: [...skillsKey, 'copy', skillId, agentId],
    queryFn: () => client.skills.compare({ params: { skill_id: skillId, agent_id: agentId } }),
  })
