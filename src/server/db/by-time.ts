import { type RawBuilder, sql } from 'kysely'
import { invalidCursor } from '../platform/errors.ts'

/**
 * Where a row stands in a list by time: `created_at` in microseconds and `id`. A JavaScript date has milliseconds only,
 * and would lose rows between two pages.
 */
export const place: RawBuilder<string> = sql<string>`(extract(epoch from created_at) * 1000000)::bigint || '.' || id`

/** True for rows that come after the place `given` in a list by time, newest first. Throws `invalid_request`. */
export function isOlderThan(given: string): RawBuilder<boolean> {
  const [, micros, id] = /^(\d{1,16})[.](\w{1,100})$/.exec(given) ?? []
  if (micros === undefined || id === undefined) throw invalidCursor()
  return sql<boolean>`(created_at, id) < (timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond', ${id})`
}
