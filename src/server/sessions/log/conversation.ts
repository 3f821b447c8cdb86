import { budgetReached, endsRun, type SessionEvent } from '../../../contract/events.ts'
import type { AnsweredMessage, OpencodeMessage } from '../../../contract/sessions.ts'
import { MessageReading } from '../../opencode/messages.ts'
import type { EventStore } from './event-store.ts'

type Log = Pick<EventStore, 'boundedPage' | 'list' | 'seqOfPrompt' | 'seqOfNewestMessages'>

/** The conversation of a session as messages with parts; only the newest `limit` where that is given. */
export async function messagesOf(events: Log, sessionId: string, limit?: number): Promise<OpencodeMessage[]> {
  // The newest messages belong to the newest prompts: each has one of the user, and at most one answer.
  const first = limit === undefined ? 1 : ((await events.seqOfNewestMessages(sessionId, limit)) ?? 1)
  const reading = new MessageReading(sessionId)
  for await (const event of eventsFrom(events, sessionId, first)) reading.take(event)
  const messages = first === 1 ? reading.messages : withoutOlder(reading.messages)
  return limit === undefined ? messages : messages.slice(-limit)
}

/** What the log says of one prompt. */
interface Exchange {
  /** With what a program reads of it, where that was asked for. */
  readonly answer: AnsweredMessage | undefined
  /** A run of the prompt has ended, or a budget has stopped it. */
  readonly hasEnd: boolean
  /** A model has answered something to the prompt. */
  readonly hasBegun: boolean
}

/** Reads what came of a prompt, from its message to the end of the log. */
export async function exchangeOf(events: Log, sessionId: string, promptId: string): Promise<Exchange> {
  const first = (await events.seqOfPrompt(sessionId, promptId)) ?? 1
  const reading = new MessageReading(sessionId)
  let hasEnd = false
  let result: unknown
  let isRequested = false
  let hasBegun = false
  for await (const event of eventsFrom(events, sessionId, first)) {
    reading.take(event)
    if (endsRun(event) && event['prompt_id'] === promptId) {
      hasEnd = true
      result = event['result']
    }
    isRequested ||= isRequestWith(promptId, event)
    hasBegun ||= isRequested && event.type.startsWith('agent.')
  }
  const said = reading.messages.find(({ info }) => info['parentID'] === promptId)
  const answer = said && { ...said, ...(result !== undefined && { result }) }
  return { answer, hasEnd, hasBegun: hasBegun || (answer !== undefined && answer.parts.length > 0) }
}

/** What the log says of the budget that stopped the session last. */
export async function budgetStopOf(events: Log, sessionId: string): Promise<string | undefined> {
  const types = ['session.status_idle']
  const { data } = await events.list({ sessionId, after: Number.MAX_SAFE_INTEGER, limit: 20, order: 'desc', types })
  const stop = data.find(event => budgetReached(event))
  return ((stop?.['stop_details'] ?? {}) as { readonly message?: string }).message
}

/** The log from event `first` to what was its end when it was reached, a page at a time. */
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

/** Without answers to prompts that are older than the first event that was read. */
function withoutOlder(messages: readonly OpencodeMessage[]): OpencodeMessage[] {
  const asked = new Set(messages.flatMap(({ info }) => (info['role'] === 'user' ? [info['id']] : [])))
  return messages.filter(({ info }) => info['role'] === 'user' || asked.has(info['parentID']))
}

function isRequestWith(promptId: string, event: SessionEvent): boolean {
  const ids = event.type === 'span.model_request_start' ? event['prompt_ids'] : undefined
  return Array.isArray(ids) && ids.includes(promptId)
}
