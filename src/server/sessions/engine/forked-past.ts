import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { pastEntry, pastText } from '../../runtimes/past-words.ts'
import type { RunPrompt, Runtime } from '../../runtimes/runtime.ts'
import { whileHeld } from '../log/event-log.ts'
import type { EventStore } from '../log/event-store.ts'
import type { HistoryStore } from '../log/history-store.ts'
import type { RunRow } from '../session-row.ts'
import type { HeldSession } from './leases.ts'

interface Deps {
  readonly history: HistoryStore
  readonly events: Pick<EventStore, 'list'>
}

interface Forked {
  readonly held: HeldSession
  readonly row: Pick<RunRow, 'id' | 'forked_at_seq'>
  readonly runtime: Pick<Runtime, 'reads'>
  readonly prompt: RunPrompt
}

/** The log and the prompt as a run gets them. */
export interface Told<P> {
  readonly history: HistoryStore
  readonly prompt: P
}

const page = 500

/**
 * What a run of a forked session is told of the session before. A runtime that goes on from that log gets it as it is. Any other gets
 * a transcript: one that reads its own log as the first message there, all others in front of their first prompt.
 */
export async function toldOfPast<P extends RunPrompt>(
  { history, events }: Deps,
  { held, row, runtime, prompt }: Forked & { readonly prompt: P },
): Promise<Told<P>> {
  const { id, forked_at_seq: at } = row
  if (at === null || runtime.reads === 'any log') return { history, prompt }
  const { events: marks } = await whileHeld(held, () => history.after(id, at - 1, 1))
  if (marks[0]?.['context'] !== 'transcript') return { history, prompt }
  const text = pastText(await whileHeld(held, () => saidUntil(history, id, at)))
  if (runtime.reads === 'own log')
    return { history: behind(history, at, text === '' ? [] : firstMessage(at, text)), prompt }
  const isFirst = text !== '' && (await whileHeld(held, () => isFirstPrompt(events, { id, at, promptId: prompt.id })))
  const parts = isFirst ? [{ type: 'text' as const, text }, ...prompt.parts] : prompt.parts
  return { history: behind(history, at, []), prompt: { ...prompt, parts } }
}

async function saidUntil(history: HistoryStore, id: string, at: number): Promise<string[]> {
  const said: string[] = []
  for (let after = 0; after < at - 1; ) {
    const { events } = await history.after(id, after, page)
    for (const event of events) if (event.seq < at) said.push(...pastEntry(event))
    after = events.at(-1)?.seq ?? at
  }
  return said
}

const promptId = 'forked'

/** The transcript as a message of a user that a model request has taken up. */
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

/** The log behind an event, with `first` in place of what was before. */
function behind(history: HistoryStore, at: number, first: readonly SessionEvent[]): HistoryStore {
  const bytes = first.reduce((sum, event) => sum + JSON.stringify(event).length, 0)
  const fromStart = async (id: string, limit: number) => {
    const rest = await history.after(id, at, limit)
    return { events: [...first, ...rest.events], bytes: bytes + rest.bytes }
  }
  return {
    after: (id, seq, limit) => (seq < at ? fromStart(id, limit) : history.after(id, seq, limit)),
    async firstKept(id, limit) {
      const kept = await history.firstKept(id, limit)
      // What was compacted before the fork says nothing to this runtime.
      const isOwn = kept.events.some(({ seq, type }) => seq > at && type === 'agent.thread_context_compacted')
      return isOwn ? { ...kept, events: kept.events.filter(({ seq }) => seq > at) } : fromStart(id, limit)
    },
  }
}

interface First {
  readonly id: string
  readonly at: number
  readonly promptId: string
}

/** True until the runtime has answered to another prompt than this one. */
async function isFirstPrompt(events: Deps['events'], { id: sessionId, at, promptId: own }: First): Promise<boolean> {
  const types = ['agent.message', 'agent.thinking', 'agent.tool_use']
  const answers = await events.list({ sessionId, after: at, limit: 1, order: 'asc', types })
  const [answer] = answers.data
  if (!answer) return true
  const begins = { sessionId, after: answer.seq, limit: 1, order: 'desc', types: ['session.status_running'] } as const
  const [begun] = (await events.list(begins)).data
  return begun?.['prompt_id'] === own
}
