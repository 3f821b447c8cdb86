import { mostDimensions, type UsageDimension, usageDimensions } from '../../contract/usage.ts'
import type { Caller } from '../http/caller.ts'
import { checkTimezone, timeRangeOf } from '../http/time-range.ts'
import { invalid } from '../platform/errors.ts'
import type { CallFilter, ReportOf } from './report-store.ts'

interface AskedCalls {
  readonly from?: string
  readonly to?: string
  readonly timezone?: string
  readonly model?: string
}

interface AskedReport extends AskedCalls {
  readonly group_by?: string
  readonly limit?: number
}

/**
 * Which calls a query means, as far as its caller may see them: admins see all; who is scoped to an owner, that owner's;
 * who has a key without an owner, the calls of that key. Throws `invalid_request`. Source: Security, sections 3 and 4.
 */
export function callFilterOf(
  { from, to, timezone = 'UTC', model, ...filters }: AskedCalls,
  caller: Caller,
): CallFilter {
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

/** What a query asks to be summed up, with nothing left open. Throws `invalid_request`. */
export function reportOf({ group_by, limit = 1_000, ...asked }: AskedReport, caller: Caller, now: Date): ReportOf {
  const filter = callFilterOf(asked, caller)
  const to = filter.to ?? now
  const from = filter.from ?? new Date(to.getTime() - daysByDefault * 86_400_000)
  if (from >= to) throw invalid('from must be earlier than now, or than to')
  return { filter: { ...filter, from, to }, groupBy: dimensionsOf(group_by), timezone: asked.timezone ?? 'UTC', limit }
}

function dimensionsOf(text = ''): readonly UsageDimension[] {
  const names = text.split(',').map(name => name.trim())
  const wanted = new Set(names.filter(name => name !== ''))
  if (wanted.size > mostDimensions)
    throw invalid(`group_by takes up to ${mostDimensions} of ${usageDimensions.join(', ')}`)
  return [...wanted].map(name => {
    const known = usageDimensions.find(dimension => dimension === name)
    if (known) return known
    throw invalid(`group_by ${JSON.stringify(name)} is not known; it takes ${usageDimensions.join(', ')}`)
  })
}
