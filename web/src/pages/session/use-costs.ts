import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { View } from '../../session-log/view.ts'
import { type Cost, costsOf } from './costs.ts'
import { callsQuery, sessionQuery } from './queries.ts'

/** The ledger stores calls shortly after they end. */
const ledgerDelayMs = 1500

/** Returns the costs of the model requests in a view, as the ledger reports them. */
export function useCosts(sessionId: string, view: View): ReadonlyMap<string, Cost> {
  const queries = useQueryClient()
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(callsQuery(sessionId))
  const calls = useMemo(() => data?.pages.flatMap(page => page.calls) ?? [], [data])
  const ended = useMemo(() => countEnded(view.turns), [view.turns])

  useEffect(() => {
    if (ended === 0) return undefined
    const timer = setTimeout(() => {
      void queries.invalidateQueries({ queryKey: callsQuery(sessionId).queryKey })
      void queries.invalidateQueries({ queryKey: sessionQuery(sessionId).queryKey })
    }, ledgerDelayMs)
    return () => clearTimeout(timer)
  }, [ended, queries, sessionId])

  const first = view.log.at(0)?.processed_at
  const oldest = calls.at(-1)?.created_at
  useEffect(() => {
    // Older events were loaded than calls.
    if (hasNextPage && !isFetching && first !== undefined && oldest !== undefined && first < oldest)
      void fetchNextPage()
  }, [hasNextPage, isFetching, first, oldest, fetchNextPage])

  return useMemo(() => costsOf(view.turns, calls), [view.turns, calls])
}

const countEnded = (turns: View['turns']): number =>
  turns.reduce((sum, { groups }) => sum + groups.filter(({ endedAt }) => endedAt !== undefined).length, 0)
