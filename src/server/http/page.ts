import { invalidCursor } from '../platform/errors.ts'

interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

/** A page of a list, and the cursor of the next page; null on the last page. */
export interface Page<T> {
  readonly items: T[]
  readonly next_cursor: string | null
}

const defaultLimit = 50

/**
 * Returns a page of a list. Loads one extra row to detect the last page. `keyOf` returns the value for `after`, which
 * cursors contain in encoded form.
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

/** Throws for an invalid cursor, also for NUL, which the database rejects. */
function decode(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString()
  if (key === '' || key.includes('\0') || encode(key) !== cursor) throw invalidCursor()
  return key
}
