import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { conversationEntry, conversationText } from '../../runtimes/conversation-text.ts'
import type { RunPrompt, Runtime } from '../../runtimes/runtime.ts'
import { whileLeased } from '../log/event-log.ts'
import type { EventStore } from '../log/event-store.ts'
import type { HistoryStore } from '../log/history-store.ts'
import type { RunRow } from '../session-row.ts'
import type { LeasedSession } from './leases.ts'

interface Deps {
  readonly history: HistoryStore
  readonly events: Pick<EventStore, 'list'>
}

interface Forked {
  readonly leased: LeasedSession
  readonly row: Pick<RunRow, 'id' | 'forked_at_seq'>
  readonly runtime: Pick<Runtime, 'reads'>
  readonly prompt: RunPrompt
}

/** Log and prompt that a run gets. */
export interface RunInput<P> {
  readonly history: HistoryStore
  readonly prompt: P
}

const page = 500

/**
 * Returns the log and the prompt for a run of a session that may be a fork. A runtime that continues from the copied
 * log gets it unchanged. Any other gets a transcript: as the first message if it reads its own log, else in front of
 * its first prompt.
 */
export async function runInputOf<P extends RunPrompt>(
  { history, events }: Deps,
  { leased, row, runtime, prompt }: Forked & { readonly prompt: P },
): Promise<RunInput<P>> {
  const { id, forked_at_seq: at } = row
  if (at === null || runtime.reads === 'any log') return { history, prompt }
  const { events: marks } = await whileLeased(leased, () => history.after(id, at - 1, 1))
  if (marks[0]?.context !== 'transcript') return { history, prompt }
  const text = conversationText(await whileLeased(leased, () => transcriptUntil(history, id, at)))
  if (runtime.reads === 'own log')
    return { history: historyAfter(history, at, text === '' ? [] : firstMessage(at, text)), prompt }
  const isFirst = text !== '' && (await whileLeased(leased, () => isFirstPrompt(events, id, at, prompt.id)))
  const parts = isFirst ? [{ type: 'text' as const, text }, ...prompt.parts] : prompt.parts
  return { history: historyAfter(history, at, []), prompt: { ...prompt, parts } }
}

async function transcriptUntil(history: HistoryStore, id: string, at: number): Promise<string[]> {
  const lines: string[] = []
  for (let after = 0; after < at - 1; ) {
    const { events } = await history.after(id, after, page)
    for (const event of events) if (event.seq < at) lines.push(...conversationEntry(event))
    after = events.at(-1)?.seq ?? at
  }
  return lines
}

const promptId = 'forked'

/** Returns the transcript as a user message that a model request has already included. */
function firstMessage(at: number, text: string): SessionEvent[] {
  const common = { seq: at, processed_at: new Date(0).toISOString() }
  const events: (NewEvent & { readonly id: string })[] = [
    { id: 'evt_forked_message', type: 'user.message', prompt_id: promptId, content: [{ type: 'text', text }] },
    { id: 'evt_forked_request', type: 'span.model_request_start', prompt_ids: [promptId] },
    {
      id: 'evt_forked_end',
      type: 'span.model_request_end',
      model_request_start_id: 'evt_forked_request',
      is_error: false,
    },
  ]
  return events.map(event => ({ ...event, ...common }))
}

/** Returns the log after event `at`, preceded by the events of `first`. */
function historyAfter(history: HistoryStore, at: number, first: readonly SessionEvent[]): HistoryStore {
  const bytes = first.reduce((sum, event) => sum + JSON.stringify(event).length, 0)
  const fromStart = async (id: string, limit: number) => {
    const rest = await history.after(id, at, limit)
    return { events: [...first, ...rest.events], bytes: bytes + rest.bytes }
  }
  return {
    after: (id, seq, limit) => (seq < at ? fromStart(id, limit) : history.after(id, seq, limit)),
    async firstRetained(id, limit) {
      const retained = await history.firstRetained(id, limit)
      // A compaction before the fork does not apply to this runtime.
      const isOwn = retained.events.some(({ seq, type }) => seq > at && type === 'agent.thread_context_compacted')
      return isOwn ? { ...retained, events: retained.events.filter(({ seq }) => seq > at) } : fromStart(id, limit)
    },
  }
}

/** True until the runtime has answered a prompt other than this one. */
async function isFirstPrompt(events: Deps['events'], sessionId: string, at: number, own: string): Promise<boolean> {
  const types = ['agent.message', 'agent.thinking', 'agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use']
  const answers = await events.list({ sessionId, after: at, limit: 1, order: 'asc', types })
  const [answer] = answers.data
  if (!answer) return true
  const begins = { sessionId, after: answer.seq, limit: 1, order: 'desc', types: ['session.status_running'] } as const
  const [begun] = (await events.list(begins)).data
  return begun?.prompt_id === own
}
