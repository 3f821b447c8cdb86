import { dollars, periodWords } from '../../parts/budget-use.ts'
import type { CallFilters } from '../../parts/call-filters.ts'
import type { StepUnit } from './view.ts'

type Scope = 'key' | 'owner' | 'agent' | 'session'

const scopeOf: Readonly<Partial<Record<string, Scope>>> = {
  key_id: 'key',
  owner_id: 'owner',
  agent_id: 'agent',
  session_id: 'session',
}

/** Returns the one budget that applies to exactly the calls of these filters; undefined if there is none. */
export function budgetOf(filters: CallFilters): { readonly scope: Scope; readonly scope_id: string } | undefined {
  const [only, ...others] = Object.entries(filters)
  const scope = only && scopeOf[only[0]]
  return scope && others.length === 0 ? { scope, scope_id: only[1] } : undefined
}

interface Line {
  /** US dollars per step of the axis. */
  readonly usd: number
  readonly label: string
}

const unitHours: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168, mo: 730 }

/**
 * Returns the line of a budget in a chart of costs per step: its limit if its period is one step, else the cost per step
 * that uses it up evenly over its period. Undefined for a budget without a limit or that never resets.
 */
export function budgetLine(
  {
    max_budget: max,
    budget_duration: period,
  }: { readonly max_budget: number | null; readonly budget_duration: string | null },
  unit: StepUnit,
): Line | undefined {
  const [, amount = '', periodUnit = ''] = /^(\d+)(h|d|w|mo)$/.exec(period ?? '') ?? []
  const hours = Number(amount) * (unitHours[periodUnit] ?? 0)
  if (max === null || hours === 0) return undefined
  const stepHours = unit === 'day' ? 24 : 1
  const limit = `budget ${dollars(max)} ${periodWords(period)}`
  if (hours === stepHours) return { usd: max, label: limit }
  return { usd: (max * stepHours) / hours, label: `even use of ${limit}` }
}
