import { endsRun, textOfContent } from '../../../contract/events.ts'
import type { EventStore } from './event-store.ts'

/** What a run said last. */
export interface RunAnswer {
  readonly text: string
  /** Type and message of the error that ended it; null when it did not fail. */
  readonly failure: { readonly type: string; readonly message: string } | null
}

/** Returns what a run of the session said last. */
export type AnswerOf = (
  sessionId: string,
  run: { readonly promptId: string; readonly runId: string },
) => Promise<RunAnswer>

const types = ['agent.message', 'user.message', 'session.status_idle', 'session.error']
const limit = 1_000

/** Returns a function that reads the last message of a run, or its typed result when it has none, and how it failed. */
export const createAnswerOf =
  (events: Pick<EventStore, 'list'>): AnswerOf =>
  async (sessionId, { promptId, runId }) => {
    const { data } = await events.list({ sessionId, after: Number.MAX_SAFE_INTEGER, limit, order: 'desc', types })
    const at = data.findIndex(event => endsRun(event) && (event.run_id === runId || event.prompt_id === promptId))
    const end = data[at]
    if (!end) return { text: '', failure: null }
    const failure = end.error ? { type: end.error.type, message: end.error.message ?? '' } : null
    for (const event of data.slice(at + 1)) {
      if (endsRun(event)) break
      if (event.type === 'agent.message') return { text: textOfContent(event.content), failure }
    }
    return { text: end.result === undefined ? '' : JSON.stringify(end.result), failure }
  }
