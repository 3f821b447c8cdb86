import { exactCount } from '../../parts/format.ts'
import { seriesColors } from '../../theme.ts'

/** A series of a chart. */
export interface Series {
  /** Field of the points. Never a name, in which a chart would read a dot as a path. */
  readonly key: string
  readonly name: string
  readonly color: string
}

/** Values of all series at one step of the axis; null: no value. */
export interface Point {
  readonly label: string
  readonly values: Readonly<Record<string, number | null>>
}

/** A group of a report that may become a series. */
export interface Candidate {
  readonly id: string
  readonly name: string
}

interface Stack {
  readonly series: readonly Series[]
  readonly points: readonly Point[]
}

export interface StackOf {
  readonly steps: readonly { readonly value: string; readonly label: string }[]
  /** Groups in the order of their size, the largest first. */
  readonly candidates: readonly Candidate[]
  /** Amount of each group at each step: step, then id of the group. */
  readonly amounts: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Amount of all groups at each step. */
  readonly totals: ReadonlyMap<string, number>
}

export const topCount = 10

/** Names the series by their order. */
export const seriesOf = (names: readonly string[]): readonly Series[] =>
  names.map((name, at) => ({ key: `s${at}`, name, color: seriesColors[at] ?? 'var(--series-other)' }))

/** Sums of floating-point numbers differ from their exact sum by less than this. */
const rounding = 1e-9

/**
 * Returns the largest groups as series, and the rest of each step as one more series, so that each step adds up to its
 * total.
 */
export function stackOf({ steps, candidates, amounts, totals }: StackOf): Stack {
  const top = candidates.slice(0, topCount)
  const series = seriesOf(top.map(({ name }) => name))
  const points = steps.map(({ value, label }) => {
    const here = amounts.get(value)
    const own = top.map(({ id }) => here?.get(id) ?? 0)
    const rest = (totals.get(value) ?? 0) - own.reduce((sum, amount) => sum + amount, 0)
    const values = Object.fromEntries(own.map((amount, at) => [`s${at}`, amount]))
    return { label, values: { ...values, other: rest > rounding ? rest : 0 } }
  })
  if (points.every(({ values }) => values.other === 0)) return { series, points }
  const count = candidates.length - top.length
  const name = count > 0 ? `${exactCount(count)} others` : 'others'
  return { series: [...series, { key: 'other', name, color: 'var(--series-other)' }], points }
}

/** Sorts values into a map of maps. */
export function nested<Row>(
  rows: readonly Row[],
  of: { readonly step: (row: Row) => string; readonly id: (row: Row) => string; readonly amount: (row: Row) => number },
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>()
  for (const row of rows) {
    const step = of.step(row)
    const here = found.get(step) ?? new Map<string, number>()
    found.set(step, here.set(of.id(row), of.amount(row)))
  }
  return found
}
