import { invalid } from '../platform/errors.ts'

type Bound = 'created_at[gt]' | 'created_at[gte]' | 'created_at[lt]' | 'created_at[lte]'

/** From `from` on and before `before`; undefined is open. */
export interface CreatedRange {
  readonly from: Date | undefined
  readonly before: Date | undefined
}

/**
 * The range that a list asks for. Answers show times to the millisecond and the database keeps more, so a bound stands for
 * its whole millisecond: a client that asks for what it was shown gets it.
 */
export function createdRange(query: { readonly [B in Bound]?: string }): CreatedRange {
  const from = [timeOf(query, 'created_at[gte]', 0), timeOf(query, 'created_at[gt]', 1)]
  const before = [timeOf(query, 'created_at[lt]', 0), timeOf(query, 'created_at[lte]', 1)]
  return { from: dateOf(Math.max(...from.filter(isThere))), before: dateOf(Math.min(...before.filter(isThere))) }
}

const isThere = (time: number | undefined): time is number => time !== undefined

/** Nothing to choose from gives an infinite bound, which is an open one. */
const dateOf = (time: number): Date | undefined => (Number.isFinite(time) ? new Date(time) : undefined)

function timeOf(query: { readonly [B in Bound]?: string }, field: Bound, laterMs: number): number | undefined {
  const text = query[field]
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw invalid(`${field} is not a time`)
  return time + laterMs
}
