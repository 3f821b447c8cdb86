import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { ScheduleRun } from '../../../../src/contract/schedules.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

/** Start of the key of each query about schedules; changes invalidate it. */
export const schedulesKey = ['schedules'] as const

/** Schedules with the newest run of each, newest first. */
export const schedulesQuery = (agentId: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...schedulesKey, 'list', agentId],
    queryFn: ({ pageParam }) =>
      client.schedules.list({
        query: present({ limit: 100, include: 'last_run' as const, agent_id: agentId, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: [...schedulesKey, 'one', id],
    queryFn: () => client.schedules.get({ params: { schedule_id: id } }),
    meta: live,
  })

/** The history of a schedule, newest first. */
export const runsQuery = (id: string, state: ScheduleRun['state'] | undefined) =>
  infiniteQueryOptions({
    queryKey: [...schedulesKey, 'runs', id, state],
    queryFn: ({ pageParam }) =>
      client.schedules.runs({
        params: { schedule_id: id },
        query: present({ limit: 20, state, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

/** The next five times of a pattern in a zone. */
export const previewQuery = (cron: string, timezone: string) =>
  queryOptions({
    queryKey: [...schedulesKey, 'preview', cron, timezone],
    queryFn: () => client.schedules.preview({ body: { cron, timezone } }),
    retry: false,
  })
