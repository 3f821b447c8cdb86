import { oneOf } from '../../parts/address.ts'
import { type CallFilterName, type CallFilters, callFiltersOf } from '../../parts/call-filters.ts'
import { type DayRange, dayRangeOf, daysOf, type RangeParameter } from '../../parts/day-range.ts'

/** What a person can group by. `tool` is a separate report: model calls have no tools. */
export const groupings = [
  'model',
  'day',
  'hour',
  'key',
  'owner',
  'agent',
  'version',
  'provider',
  'deployment',
  'session',
  'outcome',
  'tool',
] as const
export type Grouping = (typeof groupings)[number]

export const groupingLabels: Readonly<Record<Grouping, string>> = {
  model: 'Model',
  day: 'Day',
  hour: 'Hour',
  key: 'Key',
  owner: 'Owner',
  agent: 'Agent',
  version: 'Agent version',
  provider: 'Provider',
  deployment: 'Deployment',
  session: 'Session',
  outcome: 'Outcome',
  tool: 'Tool',
}

/** Length of a step on the time axis. */
export type StepUnit = 'day' | 'hour'

/** What the page shows, as the address says. */
export interface UsageView {
  readonly range: DayRange
  readonly grouping: Grouping
  readonly unit: StepUnit
  /** True when the range is too long for hours. */
  readonly isTooLongForHours: boolean
  readonly filters: CallFilters
}

export type UsageParameter = CallFilterName | RangeParameter | 'group' | 'table' | 'latency' | 'cache'

const maxDaysOfHours = 14

/** Returns the view of an address: hours for one day and on request, else days. */
export function usageViewOf(address: Readonly<Partial<Record<UsageParameter, string>>>, now: number): UsageView {
  const range = dayRangeOf(address, now)
  const grouping = oneOf(address.group, groupings)
  const days = daysOf(range).length
  const isTooLongForHours = grouping === 'hour' && days > maxDaysOfHours
  const unit = days === 1 || (grouping === 'hour' && !isTooLongForHours) ? 'hour' : 'day'
  return { range, grouping, unit, isTooLongForHours, filters: callFiltersOf(address) }
}
