import { budgetReached, endsRun, type SessionEvent } from '../../../contract/events.ts'
import type { AnsweredMessage, OpencodeMessage } from '../../../contract/sessions.ts'
import { MessageReading } from '../../opencode/messages.ts'
import type { EventStore } from './event-store.ts'

type Log = Pick<EventStore, 'boundedPage' | 'list' | 'seqOfPrompt' | 'seqOfNewestMessages'>

/** Returns the conversation of a session as messages with parts; only the newest `limit` when given. */
export async function messagesOf(events: Log, sessionId: string, limit?: number): Promise<OpencodeMessage[]> {
  // The newest messages belong to the newest prompts: each has one user message and at most one answer.
  const first = limit === undefined ? 1 : ((await events.seqOfNewestMessages(sessionId, limit)) ?? 1)
  const reading = new MessageReading(sessionId)
  for await (const event of eventsFrom(events, sessionId, first)) reading.take(event)
  const messages = first === 1 ? reading.messages : withoutOlder(reading.messages)
  return limit === undefined ? messages : messages.slice(-limit)
}

/** The log entries that belong to one prompt. */
interface Exchange {
  /** Includes the typed result and the outcome when the prompt requested them. */
  readonly answer: AnsweredMessage | undefined
  /** A run of the prompt has ended, or a budget has stopped it. */
  readonly hasEnd: boolean
  /** A model has produced output for the prompt. */
  readonly hasBegun: boolean
}

/** Reads the exchange of a prompt, from its message to the end of the log. */
export async function exchangeOf(events: Log, sessionId: string, promptId: string): Promise<Exchange> {
  const first = (await events.seqOfPrompt(sessionId, promptId)) ?? 1
  const reading = new MessageReading(sessionId)
  let hasEnd = false
  let ended: Pick<AnsweredMessage, 'result' | 'outcome'> = {}
  let isRequested = false
  let hasBegun = false
  for await (const event of eventsFrom(events, sessionId, first)) {
    reading.take(event)
    if (endsRun(event) && event.prompt_id === promptId) {
      hasEnd = true
      ended = endFields(event)
    }
    isRequested ||= isRequestWith(promptId, event)
    hasBegun ||= isRequested && event.type.startsWith('agent.')
  }
  const said = reading.messages.find(({ info }) => info['parentID'] === promptId)
  const answer = said && { ...said, ...ended }
  return { answer, hasEnd, hasBegun: hasBegun || (answer !== undefined && answer.parts.length > 0) }
}

/** Returns the result and the outcome of a run. */
const endFields = ({ result, outcome }: SessionEvent): Pick<AnsweredMessage, 'result' | 'outcome'> => ({
  ...(result !== undefined && { result }),
  ...(outcome && { outcome }),
})

/** Returns the message of the last budget stop of the session. */
export async function budgetStopOf(events: Log, sessionId: string): Promise<string | undefined> {
  const types = ['session.status_idle']
  const { data } = await events.list({ sessionId, after: Number.MAX_SAFE_INTEGER, limit: 20, order: 'desc', types })
  const stop = data.find(event => budgetReached(event))
  return stop?.stop_details?.message
}

/** Yields the log from event `first` to the current end, one page at a time. */
async function* eventsFrom(events: Log, sessionId: string, first: number): AsyncGenerator<SessionEvent> {
  for (let after = first - 1; ; ) {
    const page = await events.boundedPage(sessionId, after)
    const last = page?.events.at(-1)
    if (!page || !last) return
    yield* page.events
    after = last.seq
    if (after >= page.last) return
  }
}

/** Drops answers to prompts that precede the first event that was read. */
function withoutOlder(messages: readonly OpencodeMessage[]): OpencodeMessage[] {
  const promptIds = new Set(messages.flatMap(({ info }) => (info['role'] === 'user' ? [info['id']] : [])))
  return messages.filter(({ info }) => info['role'] === 'user' || promptIds.has(info['parentID']))
}

function isRequestWith(promptId: string, event: SessionEvent): boolean {
  return event.type === 'span.model_request_start' && (event.prompt_ids ?? []).includes(promptId)
}
