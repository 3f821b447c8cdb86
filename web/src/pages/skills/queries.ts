import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { skillsKey } from '../../data/skills.ts'

export const skillQuery = (id: string) =>
  queryOptions({
    queryKey: [...skillsKey, 'one', id],
    queryFn: () => client.skills.get({ params: { skill_id: id } }),
  })

/** How many agents have a skill. */
export interface CopyCount {
  readonly total: number
  readonly differing: number
}

interface CopyCounts {
  readonly bySkill: ReadonlyMap<string, CopyCount>
  /** False when there are more agents with skills than were read. */
  readonly isComplete: boolean
}

const pageSize = 200
const maxAgents = 1000

/** Counts the copies of all skills: one request for 200 agents that have skills. */
export const copyCountsQuery = queryOptions({
  queryKey: [...skillsKey, 'copies'],
  queryFn: async (): Promise<CopyCounts> => {
    const bySkill = new Map<string, CopyCount>()
    let read = 0
    for (let cursor: string | null | undefined; ; ) {
      const query = { limit: pageSize, ...(cursor !== undefined && cursor !== null && { cursor }) }
      const page = await client.skills.copies({ query })
      for (const { id, state } of page.data.flatMap(({ skills }) => skills)) {
        const { total, differing } = bySkill.get(id) ?? { total: 0, differing: 0 }
        bySkill.set(id, { total: total + 1, differing: differing + (state === 'current' ? 0 : 1) })
      }
      read += page.data.length
      cursor = page.next_cursor
      if (cursor === null || read >= maxAgents) return { bySkill, isComplete: cursor === null }
    }
  },
  meta: live,
  staleTime: 10_000,
})

/** The agents that have a skill. */
export const carriersQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...skillsKey, 'agents', id],
    queryFn: ({ pageParam }) =>
      client.skills.agents({
        params: { skill_id: id },
        query: { limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
  })
