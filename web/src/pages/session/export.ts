import type { SessionEvent } from '../../../../src/client/index.ts'
import { client } from '../../data/client.ts'
import { showProblem } from '../../parts/notices.ts'
import { saveFile } from '../../parts/save-file.ts'
import { createView } from '../../session-log/session-view.ts'

const pageLimit = 1000

/** Loads the whole log of a session, in the order of `seq`. */
async function loadLog(sessionId: string): Promise<SessionEvent[]> {
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
const jsonLines = (events: readonly SessionEvent[]): string =>
  events.map(event => `${JSON.stringify(event)}\n`).join('')

/** Saves the log of a session as it is stored. */
export async function exportEvents(sessionId: string): Promise<void> {
  try {
    saveFile(`${sessionId}.jsonl`, jsonLines(await loadLog(sessionId)), 'application/x-ndjson')
  } catch (error) {
    showProblem('export the events', error)
  }
}

/** Saves the transcript of a session as Markdown. */
export async function exportMarkdown(sessionId: string, title: string): Promise<void> {
  try {
    const [events, { markdownOf }] = await Promise.all([loadLog(sessionId), import('../../session-log/markdown.ts')])
    saveFile(`${sessionId}.md`, markdownOf(createView(events), title), 'text/markdown')
  } catch (error) {
    showProblem('export the transcript', error)
  }
}
