import { timeIn } from './time-range.ts'

type Bound = 'created_at[gt]' | 'created_at[gte]' | 'created_at[lt]' | 'created_at[lte]'

/** Bounds of the creation time in the query of a list. */
export type CreatedQuery = { readonly [B in Bound]?: string }

/** From `from` inclusive to `before` exclusive; undefined is unbounded. */
export interface CreatedRange {
  readonly from: Date | undefined
  readonly before: Date | undefined
}

/**
 * Returns the time range of a list query. The API returns milliseconds and the database stores microseconds, so a bound
 * covers its whole millisecond: a client that filters by a returned time gets that item.
 */
export function createdRange(query: CreatedQuery): CreatedRange {
  const from = [timeOf(query, 'created_at[gte]', 0), timeOf(query, 'created_at[gt]', 1)]
  const before = [timeOf(query, 'created_at[lt]', 0), timeOf(query, 'created_at[lte]', 1)]
  return { from: dateOf(Math.max(...from.filter(isThere))), before: dateOf(Math.min(...before.filter(isThere))) }
}

const isThere = (time: number | undefined): time is number => time !== undefined

/** Returns undefined for an infinite bound, the result without any bounds. */
const dateOf = (time: number): Date | undefined => (Number.isFinite(time) ? new Date(time) : undefined)

function timeOf(query: CreatedQuery, field: Bound, laterMs: number): number | undefined {
  const text = query[field]
  return text === undefined ? undefined : timeIn(field, text).getTime() + laterMs
}
