import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { MemorySource } from '../../../../src/contract/memories.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { routes } from '../../data/routes.ts'

/** Start of the key of each query about memories; changes of memories invalidate it. */
export const memoriesKey = ['memories'] as const

export interface MemoryFilters {
  readonly q?: string | undefined
  readonly tag?: string | undefined
  readonly type?: string | undefined
  readonly source?: MemorySource | undefined
  readonly disabled?: boolean | undefined
}

/** The memories of an agent. Reading them here does not count as use. */
export const memoryListQuery = (agentId: string, filters: MemoryFilters) =>
  infiniteQueryOptions({
    queryKey: [...memoriesKey, 'list', agentId, filters],
    queryFn: ({ pageParam }) =>
      client.page(routes.memoryList, {
        params: { agent_id: agentId },
        query: present({ ...filters, limit: 100, track: false, include_disabled: true, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.nextCursor,
    meta: live,
  })

/** Which memories a new session gets, and why. */
export const memoryPreviewQuery = (agentId: string) =>
  queryOptions({
    queryKey: [...memoriesKey, 'preview', agentId],
    queryFn: () => client.memories.preview({ params: { agent_id: agentId } }),
  })

export const memoryQuery = (agentId: string, id: string) =>
  queryOptions({
    queryKey: [...memoriesKey, 'one', agentId, id],
    queryFn: () => client.memories.get({ params: { agent_id: agentId, memory_id: id } }),
  })
