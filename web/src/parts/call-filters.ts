import type { Input } from '../../../src/contract/route.ts'
import type { usageRoutes } from '../../../src/contract/usage.ts'
import { present } from '../data/present.ts'

/** Filters of model calls in the address; the names are those of the API. */
export const callFilterNames = [
  'model',
  'provider',
  'deployment',
  'key_id',
  'owner_id',
  'principal',
  'agent_id',
  'agent_version',
  'session_id',
  'outcome',
  'status',
  'min_cost_usd',
] as const
export type CallFilterName = (typeof callFilterNames)[number]
export type CallFilters = Readonly<Partial<Record<CallFilterName, string>>>

type ReportQuery = NonNullable<Input<typeof usageRoutes.report>['query']>

/** Returns the filters of an address without its other parameters. */
export const callFiltersOf = (address: CallFilters): CallFilters =>
  Object.fromEntries(
    callFilterNames.flatMap(name => (address[name] === undefined ? [] : [[name, address[name]] as const])),
  )

/** Returns filters as parameters of the API. */
export function callQueryOf({
  agent_version: version,
  ...filters
}: CallFilters): Omit<ReportQuery, 'format' | 'limit'> {
  return present({ ...filters, agent_version: version === undefined ? undefined : Number(version) })
}

/** Changes of an address that remove all filters. */
export const withoutCallFilters: Readonly<Record<CallFilterName, undefined>> = Object.fromEntries(
  callFilterNames.map(name => [name, undefined]),
) as Record<CallFilterName, undefined>
