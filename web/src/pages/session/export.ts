import type { SessionEvent } from '../../../../src/client/index.ts'
import { client } from '../../data/client.ts'

const pageLimit = 1000

/** Loads the whole log of a session, in the order of `seq`. */
export async function loadLog(sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (let page: string | null = '0'; page !== null; ) {
    const answer: Awaited<ReturnType<typeof client.events.list>> = await client.events.list({
      params: { session_id: sessionId },
      query: { limit: pageLimit, page },
    })
    events.push(...answer.data)
    page = answer.next_page
  }
  return events
}

/** Returns a log as it is stored, one event a line. */
export const jsonLines = (events: readonly SessionEvent[]): string =>
  events.map(event => `${JSON.stringify(event)}\n`).join('')

/** Offers a text as a file. */
export function saveFile(name: string, text: string, mediaType: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser reads the address after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
