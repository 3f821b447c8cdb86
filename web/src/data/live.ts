import { type Query, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ServiceUnreachable } from '../../../src/client/index.ts'
import type { Overview } from '../../../src/contract/console.ts'
import { localZone } from '../parts/day-range.ts'
import { client } from './client.ts'

const tickMs = 5_000
/** Every sixth tick refreshes what the page shows instead of the overview. */
const ticksPerRefresh = 6

/** Put into `meta` of a query whose data changes while the page is open. */
export const live = { isLive: true } as const

const overviewKey = ['overview'] as const

/** Returns the overview of the service. It is loaded by `useTicks`, not by the pages that show it. */
export function useOverview() {
  return useQuery<Overview>({
    queryKey: overviewKey,
    queryFn: () => client.console.overview({ query: { timezone: localZone } }),
    staleTime: tickMs,
  })
}

/**
 * Keeps a visible page current with one request in 5 s: the overview. When it reports a change, and every 30 s, live
 * queries of the page are loaded again, and those that could not reach the service. A hidden page makes no request.
 */
export function useTicks(): void {
  const queries = useQueryClient()
  const { data } = useOverview()
  const ticks = useRef(0)

  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState !== 'visible') return
      ticks.current++
      const isRefresh = ticks.current % ticksPerRefresh === 0 && hasLiveQueries(queries)
      void (isRefresh ? reload(queries, isLive) : queries.refetchQueries({ queryKey: overviewKey }))
    }
    const timer = setInterval(refresh, tickMs)
    return () => clearInterval(timer)
  }, [queries])

  const isStarted = useRef(false)
  useEffect(() => {
    if (!data) return
    // The page loads its queries at the same time as the first overview: only those that failed are loaded again.
    void reload(queries, isStarted.current ? isLive : isUnreachable)
    isStarted.current = true
  }, [data, queries])
}

type Queries = ReturnType<typeof useQueryClient>
type Predicate = (query: Pick<Query, 'meta' | 'state'>) => boolean

const isUnreachable: Predicate = ({ state }) => state.error instanceof ServiceUnreachable

/** True for live queries, and for those that failed while the service was unreachable. */
const isLive: Predicate = query => query.meta?.['isLive'] === true || isUnreachable(query)

const hasLiveQueries = (queries: Queries): boolean =>
  queries.getQueryCache().findAll({ type: 'active', predicate: isLive }).length > 0

const reload = (queries: Queries, predicate: Predicate): Promise<void> =>
  queries.refetchQueries({ type: 'active', predicate })
