import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { routes } from '../../data/routes.ts'
import { type CallFilters, callQueryOf } from '../../parts/call-filters.ts'
import { type DayRange, rangeQueryOf } from '../../parts/day-range.ts'

export interface CallsWanted {
  readonly filters: CallFilters
  readonly requestId: string | undefined
  /** Undefined: of all time. */
  readonly range: DayRange | undefined
}

const queryOf = ({ filters, requestId, range }: CallsWanted) =>
  present({ ...callQueryOf(filters), ...(range && rangeQueryOf(range)), request_id: requestId })

/** Model calls, the newest first. */
export const callsQuery = (wanted: CallsWanted) =>
  infiniteQueryOptions({
    queryKey: ['calls', 'list', queryOf(wanted)],
    queryFn: ({ pageParam }) =>
      client.usage.calls({ query: present({ ...queryOf(wanted), limit: 100, cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

/** All calls of the filters as a file. */
export const loadCallsFile = (wanted: CallsWanted): Promise<Response> =>
  client.open(routes.calls, { query: { ...queryOf(wanted), format: 'csv' } })

export const callQuery = (requestId: string) =>
  queryOptions({
    queryKey: ['calls', 'one', requestId],
    queryFn: () => client.usage.call({ params: { request_id: requestId } }),
  })

/** Request and answer of a call. The audit log records each read, so they are loaded once, and only on demand. */
export const bodiesQuery = (requestId: string) =>
  queryOptions({
    queryKey: ['calls', 'bodies', requestId],
    queryFn: () => client.usage.bodies({ params: { request_id: requestId } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
