import { type RawBuilder, sql } from 'kysely'
import { invalidCursor } from '../platform/errors.ts'

/**
 * SQL of the position of a row in a list by time: `created_at` in microseconds and `id`. JavaScript dates have only
 * milliseconds, which would lose rows between two pages.
 */
export const place: RawBuilder<string> = sql<string>`(extract(epoch from created_at) * 1000000)::bigint || '.' || id`

/** SQL that is true for rows after the position `given` in a list by time, newest first. Throws `invalid_request`. */
export function isOlderThan(given: string): RawBuilder<boolean> {
  const [, micros, id] = /^(\d{1,16})[.](\w{1,100})$/.exec(given) ?? []
  if (micros === undefined || id === undefined) throw invalidCursor()
  return sql<boolean>`(created_at, id) < (timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond', ${id})`
}
