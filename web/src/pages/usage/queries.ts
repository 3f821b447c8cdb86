import { queryOptions } from '@tanstack/react-query'
import { ApiError } from '../../../../src/client/index.ts'
import type { Result } from '../../../../src/contract/route.ts'
import { client } from '../../data/client.ts'
import { present } from '../../data/present.ts'
import { routes } from '../../data/routes.ts'
import { type CallFilters, callQueryOf } from '../../parts/call-filters.ts'
import { rangeQueryOf } from '../../parts/day-range.ts'
import { budgetOf } from './budget-line.ts'
import type { UsageView } from './view.ts'

export type Report = Result<typeof routes.usageReport>
export type ToolReport = Result<typeof routes.toolReport>

export const usageKey = ['usage'] as const

/** Most groups of one report. */
const limit = 10_000
const staleTime = 30_000

type Wanted = Pick<UsageView, 'range' | 'filters'>

const reportParameters = ({ range, filters }: Wanted, groupBy: readonly string[]) => ({
  ...rangeQueryOf(range),
  ...callQueryOf(filters),
  group_by: groupBy.join(','),
})

/** Sums of model calls. Reports are costly, so they do not refresh by themselves. */
export const reportQuery = (wanted: Wanted, groupBy: readonly string[]) => {
  const query = { ...reportParameters(wanted, groupBy), limit }
  return queryOptions({
    queryKey: [...usageKey, 'report', query],
    queryFn: () => client.usage.report({ query }),
    staleTime,
  })
}

/** The same report as a file, without a limit of groups. */
export const loadReportFile = (wanted: Wanted, groupBy: readonly string[]): Promise<Response> =>
  client.open(routes.usageReport, { query: { ...reportParameters(wanted, groupBy), format: 'csv' } })

const toolFilterNames: ReadonlySet<string> = new Set(['owner_id', 'agent_id', 'agent_version', 'session_id'])

/** Returns the filters that the report of tool calls does not have, since such calls have no such fields. */
export const filtersWithoutTools = (filters: CallFilters): readonly string[] =>
  Object.keys(filters).filter(name => !toolFilterNames.has(name))

const toolParameters = ({ range, filters }: Wanted, groupBy: readonly string[]) => {
  const { owner_id, agent_id, session_id, agent_version } = callQueryOf(filters)
  return present({
    ...rangeQueryOf(range),
    owner_id,
    agent_id,
    session_id,
    agent_version,
    group_by: groupBy.join(','),
  })
}

/** Sums of tool calls. */
export const toolsQuery = (wanted: Wanted, groupBy: readonly string[]) => {
  const query = { ...toolParameters(wanted, groupBy), limit }
  return queryOptions({
    queryKey: [...usageKey, 'tools', query],
    queryFn: () => client.usage.tools({ query }),
    staleTime,
  })
}

export const loadToolsFile = (wanted: Wanted, groupBy: readonly string[]): Promise<Response> =>
  client.open(routes.toolReport, { query: { ...toolParameters(wanted, groupBy), format: 'csv' } })

/** The one budget that applies to the filters; null if there is none. */
export const budgetQuery = (filters: CallFilters) => {
  const id = budgetOf(filters)
  return queryOptions({
    queryKey: [...usageKey, 'budget', id],
    queryFn: () => (id === undefined ? null : client.budgets.get({ params: id }).catch(nullIfMissing)),
    staleTime,
  })
}

function nullIfMissing(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null
  throw error
}
