import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { DatabaseError } from 'pg'
import type { Database } from '../db/database.ts'
import { invalid } from '../platform/errors.ts'

/** Sums of a table by dimensions, with the totals of all groups. */
interface SumsOf<Dimension extends string> {
  readonly table: 'usage' | 'tool_calls'
  readonly where: Expression<SqlBool>
  readonly groupBy: readonly Dimension[]
  readonly columnOf: (dimension: Dimension) => RawBuilder<string | null>
  /** Aggregates with the names of the API. */
  readonly figures: Expression<unknown>
  /** Order of the groups after the time, oldest first. */
  readonly order: readonly Expression<unknown>[]
  readonly limit: number
}

/** A group or the totals; `by_0` is the value of the first dimension. */
type GroupRow<Row> = Row & { readonly [dimension: `by_${number}`]: string | null }

interface Sums<Figures> {
  readonly totals: Figures
  readonly groups: (Figures & { readonly by: Record<string, string | null> })[]
  readonly has_more: boolean
}

/** Returns the statement that reads totals and groups from one snapshot; the totals come first. */
export function sumStatement<Row, Dimension extends string>(of: SumsOf<Dimension>): RawBuilder<GroupRow<Row>> {
  const { table, where, groupBy, columnOf, figures, limit } = of
  const names = groupBy.map((_, at) => sql.ref(`by_${at}`))
  const values = groupBy.map((dimension, at) => sql`${columnOf(dimension)} as ${names[at]}`)
  const times = names.filter((_, at) => groupBy[at] === 'day' || groupBy[at] === 'hour')
  const isTotal = names.length === 0 ? sql`true` : sql`grouping(${sql.join(names)}) > 0`
  const sets = names.length === 0 ? sql`()` : sql`grouping sets ((${sql.join(names)}), ())`
  const order = sql.join([sql`is_total desc`, ...times, ...of.order, ...names])
  return sql<GroupRow<Row>>`
    with calls as (select ${sql.join([...values, sql`${sql.table(table)}.*`])} from ${sql.table(table)} where ${where})
    select ${sql.join([...names, sql`${isTotal} as is_total`, figures])}
    from calls group by ${sets} order by ${order} limit ${limit + 2}`
}

interface Reading<Row, Figures> {
  readonly groupBy: readonly string[]
  readonly limit: number
  readonly toFigures: (row: Row) => Figures
}

/** Executes a statement of `sumStatement`. */
export async function readSums<Row, Figures>(
  db: Kysely<Database>,
  statement: RawBuilder<GroupRow<Row>>,
  { groupBy, limit, toFigures }: Reading<Row, Figures>,
): Promise<Sums<Figures>> {
  const { rows } = await statement.execute(db).catch(throwZoneError)
  const [total, ...groups] = rows
  if (!total) throw new Error('report returned no totals row (bug)')
  return {
    totals: toFigures(total),
    groups: groups.slice(0, limit).map(row => ({
      by: Object.fromEntries(groupBy.map((dimension, at) => [dimension, row[`by_${at}`] ?? null])),
      ...toFigures(row),
    })),
    has_more: groups.length > limit,
  }
}

/** The time zone lists of Node and of PostgreSQL may have different versions. */
function throwZoneError(error: unknown): never {
  const isZone = error instanceof DatabaseError && error.code === '22023' && error.message.includes('time zone')
  throw isZone ? invalid('timezone is unknown to the database; use another IANA name, such as Europe/Berlin') : error
}

/** Days of the time zone as `2026-01-31`; hours as their start in UTC. */
export const timeColumn = (dimension: 'day' | 'hour', timezone: string): RawBuilder<string | null> =>
  dimension === 'day'
    ? sql`to_char(created_at at time zone ${timezone}, 'YYYY-MM-DD')`
    : sql`to_char(date_trunc('hour', created_at, ${timezone}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

/** Result of `percentile_cont` with the median and the 95th percentile. */
export type Percentiles = readonly (number | null)[] | null

export const toMilliseconds = (percentiles: Percentiles) => {
  const [p50, p95] = (percentiles ?? []).map(value => (value === null ? null : rounded(value, 10)))
  return { p50: p50 ?? null, p95: p95 ?? null }
}

/** Rounds to multiples of 1/`parts`. */
export const rounded = (value: number, parts: number): number => Math.round(value * parts) / parts
