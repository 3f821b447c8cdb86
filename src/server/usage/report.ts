import { maxDimensions, type UsageDimension, usageDimensions } from '../../contract/usage.ts'
import type { Caller } from '../http/caller.ts'
import { checkTimezone, type TimeRange, timeRangeOf } from '../http/time-range.ts'
import { invalid } from '../platform/errors.ts'
import type { CallFilter } from './call-filter.ts'
import type { ReportOf } from './report-store.ts'

interface CallQuery {
  readonly from?: string
  readonly to?: string
  readonly timezone?: string
  readonly model?: string
  readonly request_id?: string
}

interface ReportQuery extends CallQuery {
  readonly group_by?: string
  readonly limit?: number
}

/**
 * Returns the filter of a query, restricted to what the caller may see: admins see all calls, callers scoped to an
 * owner those of that owner, keys without an owner their own. Throws `invalid_request`. Source: Security, sections 3
 * and 4.
 */
export function callFilterOf({ from, to, timezone = 'UTC', model, ...filters }: CallQuery, caller: Caller): CallFilter {
  const range = timeRangeOf(
    { ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
    checkTimezone(timezone),
  )
  return { ...filters, ...range, alias: model, visible: visibleTo(caller) }
}

function visibleTo({ ownerScope, role, key, principal }: Caller): CallFilter['visible'] {
  if (ownerScope !== undefined) return { owner_id: ownerScope }
  if (role === 'admin') return {}
  return key ? { key_id: key.id } : { principal }
}

const daysByDefault = 30

/** Maximum number of groups in a file, which is built in memory. */
export const maxFileGroups = 100_000

export const tooManyGroups = () =>
  invalid(`group_by results in more than ${maxFileGroups} groups; use a shorter time range`)

/** Returns the parameters of a report with all defaults filled in. Throws `invalid_request`. */
export function reportOf({ group_by, limit = 1_000, ...query }: ReportQuery, caller: Caller, now: Date): ReportOf {
  const filter = callFilterOf(query, caller)
  const range = closedRange(filter, now)
  const groupBy = dimensionsOf<UsageDimension>(group_by, usageDimensions)
  return { filter: { ...filter, ...range }, groupBy, timezone: query.timezone ?? 'UTC', limit }
}

/** Returns a range with its defaults: the 30 days until `to`, which is now. Throws `invalid_request`. */
export function closedRange(range: Partial<TimeRange>, now: Date): { readonly from: Date; readonly to: Date } {
  const to = range.to ?? now
  const from = range.from ?? new Date(to.getTime() - daysByDefault * 86_400_000)
  if (from >= to) throw invalid('from must be earlier than to, which is now by default')
  return { from, to }
}

/** Returns the dimensions of `group_by`. Throws `invalid_request` for an unknown one and for too many. */
export function dimensionsOf<Name extends string>(text = '', known: readonly Name[]): readonly Name[] {
  const names = text.split(',').map(name => name.trim())
  const wanted = new Set(names.filter(name => name !== ''))
  if (wanted.size > maxDimensions)
    throw invalid(
      `group_by has more than ${maxDimensions} dimensions; use at most ${maxDimensions} of ${known.join(', ')}`,
    )
  return [...wanted].map(name => {
    const found = known.find(dimension => dimension === name)
    if (found) return found
    throw invalid(`group_by has the unknown dimension ${JSON.stringify(name)}; use ${known.join(', ')}`)
  })
}
