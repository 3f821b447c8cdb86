import { invalidCursor } from '../platform/errors.ts'

interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** One page of a list, and the cursor of the next; null at the end. */
export interface Page<T> {
  readonly items: T[]
  readonly next_cursor: string | null
}

const defaultLimit = 50

/**
 * Reads one row more than asked, so that the last page knows that it is the last. `keyOf` gives the value that `load` takes
 * as `after`; callers see it only in encoded form.
 */
export async function pageOf<T>(
  { limit = defaultLimit, cursor }: PageQuery,
  load: (page: { after: string | undefined; limit: number }) => Promise<T[]>,
  keyOf: (item: T) => string,
): Promise<Page<T>> {
  const rows = await load({ after: cursor === undefined ? undefined : decode(cursor), limit: limit + 1 })
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: rows.length > limit && last !== undefined ? encode(keyOf(last)) : null }
}

const encode = (key: string): string => Buffer.from(key).toString('base64url')

/** The database refuses a NUL, and no key holds one. */
function decode(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (key === '' || key.includes('\0') || encode(key) !== cursor) throw invalidCursor()
  return key
}
