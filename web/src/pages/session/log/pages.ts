import type { Client, SessionEvent } from '../../../../../src/client/index.ts'

export interface PageRequest {
  readonly client: Client
  readonly sessionId: string
  readonly signal: AbortSignal
  readonly limit: number
  /** Sequence number before which the page ends; absent: the last page. */
  readonly before?: number | undefined
}

/** Loads one page of a log, in the order of `seq`. */
export async function loadPage({ client, sessionId, signal, limit, before }: PageRequest): Promise<SessionEvent[]> {
  const query = { order: 'desc', limit, ...(before !== undefined && { page: String(before) }) } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query }, { signal })
  return data.toReversed()
}

const bulkLimit = 1000

/**
 * Loads pages before an event, from the newest to the oldest, until one of them has an event that `isWanted`, or the
 * log begins. Returns them as one list in the order of `seq`.
 */
export async function loadBack(
  request: Omit<PageRequest, 'limit'> & { readonly before: number },
  isWanted: (event: SessionEvent) => boolean,
): Promise<SessionEvent[]> {
  const pages: SessionEvent[][] = []
  let { before } = request
  while (before > 1) {
    const page = await loadPage({ ...request, limit: bulkLimit, before })
    const first = page[0]
    if (!first) break
    pages.push(page)
    before = first.seq
    if (page.some(isWanted)) break
  }
  return pages.toReversed().flat()
}
