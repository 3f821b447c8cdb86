import { pageOf } from '../http/page.ts'

interface PageQuery {
  readonly limit?: number
  readonly page?: string
}

/** Returns one page in the format of the dialect. Source: Dialects, section 1.8. */
export async function listOf<T>(
  { limit, page }: PageQuery,
  load: Parameters<typeof pageOf<T>>[1],
  keyOf: (item: T) => string,
): Promise<{ data: T[]; next_page: string | null }> {
  const pageQuery = { ...(limit !== undefined && { limit }), ...(page !== undefined && { cursor: page }) }
  const { items, next_cursor } = await pageOf(pageQuery, load, keyOf)
  return { data: items, next_page: next_cursor }
}

/** The cursor of lists in the order of ids. */
export const byId = ({ id }: { readonly id: string }): string => id
