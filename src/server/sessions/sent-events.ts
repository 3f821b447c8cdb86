import type { PoolClient } from 'pg'
import type { SentEvent } from '../../contract/event-routes.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { PromptMode } from '../../contract/prompts.ts'
import type { Caller } from '../http/caller.ts'
import type { Creation, CreationDeps } from './creation.ts'
import type { EventTransaction } from './event-transaction.ts'
import { sentParts } from './files/sent-file.ts'
import type { Appended } from './log/event-log.ts'
import { checkOutcomes, outcomeMessage, outcomeMode, type PreparedMessage } from './outcome.ts'
import { modelOfSession } from './prompt-model.ts'
import type { SessionRow } from './session-row.ts'
import type { Approvals } from './waits/approvals.ts'
import type { CustomToolCalls } from './waits/custom-tool-calls.ts'
import { type CheckedAnswer, checkedAnswer } from './waits/custom-tool-result.ts'
import type { AskingThread, ThreadRequestStore } from './waits/thread-request-store.ts'

export interface SentEventDeps extends Pick<CreationDeps, 'store' | 'queue' | 'runtimes' | 'promptFiles'> {
  readonly approvals: Pick<Approvals, 'checkInput' | 'decideWithin'>
  readonly customToolCalls: Pick<CustomToolCalls, 'answerWithin'>
  readonly threads: Pick<ThreadRequestStore, 'askingThread'>
  /** Called with each session of which a call was answered, after the commit. */
  readonly onAnswered: (sessionId: string) => void
}

/** Rules of sessions that events of clients need. */
interface SessionRules {
  readonly eventTransaction: EventTransaction
  /** Returns a session that the caller may see. Throws `not_found`. */
  readonly open: (id: string, caller: Caller) => Promise<SessionRow>
  /** Returns a session below `id`. Throws `not_found`. */
  readonly threadOf: (id: string, threadId: string, caller: Caller) => Promise<SessionRow>
  readonly busyModeOf: (session: SessionRow) => Promise<PromptMode | undefined>
  readonly prepare: Creation['prepare']
}

/** More about the events of one request. */
interface Sending {
  /** Paths of the contents of the events in the request; by default those of `events`. */
  readonly places?: readonly string[]
  /** Writes what must be stored together with the events. */
  readonly record?: (client: PoolClient, stored: readonly SessionEvent[]) => Promise<void>
}

/** What events of one request share. */
interface Accepting {
  readonly caller: Caller
  /** Model and mode of messages. */
  readonly model: string
  readonly mode: PromptMode | undefined
  /** Returns the content of a message, with its files stored. */
  readonly messageOf: (message: SentMessage) => PreparedMessage
  /** Returns the checked result of a custom tool. */
  readonly resultOf: (result: SentResult) => CheckedAnswer
  readonly unpublished: Appended[]
}

type SentMessage = Extract<SentEvent, { type: 'user.message' | 'user.define_outcome' }>
type SentResult = Extract<SentEvent, { type: 'user.custom_tool_result' }>
type SentAnswer = Extract<SentEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>

/**
 * Returns the function that handles the events of a client. Messages use the model of the session's agent. An answer to
 * a call of a session below this one is given there. Resolves with the stored user events.
 */
export function createSentEvents(deps: SentEventDeps & Parameters<typeof modelOfSession>[0], rules: SessionRules) {
  const { store, queue, approvals, customToolCalls } = deps

  /** Handles one event. Returns the stored event when it repeats an earlier one. */
  async function accept(
    client: PoolClient,
    id: string,
    event: SentEvent,
    { caller, model, mode, messageOf, resultOf, unpublished }: Accepting,
  ): Promise<SessionEvent | undefined> {
    switch (event.type) {
      case 'user.interrupt':
        await queue.requestStop(client, id, unpublished)
        return undefined
      case 'user.tool_confirmation':
        await approvals.decideWithin(client, id, { verdict: verdictOf(event), by: caller, unpublished })
        return undefined
      case 'user.custom_tool_result':
        return customToolCalls.answerWithin(client, id, { answer: resultOf(event), caller, unpublished })
      case 'user.message':
        await queue.enqueue(client, { id, caller, prompt: { ...messageOf(event), model, mode } }, unpublished)
        return undefined
      case 'user.define_outcome': {
        const prompt = { ...messageOf(event), model, mode: outcomeMode(undefined, mode) }
        await queue.enqueue(client, { id, caller, prompt }, unpublished)
        return undefined
      }
    }
  }

  /** Returns the sessions below this one that the events are for. Throws `not_found` for an unknown one. */
  async function targetsOf(
    id: string,
    sent: readonly SentEvent[],
    caller: Caller,
  ): Promise<ReadonlyMap<SentEvent, AskingThread>> {
    const targets = new Map<SentEvent, AskingThread>()
    for (const event of sent) {
      if (isMessage(event)) continue
      const named = event.session_thread_id ?? id
      const asking = isAnswer(event) ? await deps.threads.askingThread(id, callOf(event)) : undefined
      const thread = named === id ? asking : await rules.threadOf(id, named, caller)
      if (thread) targets.set(event, thread)
    }
    return targets
  }

  /** Returns a message to queue. Throws `invalid_request` for one that the runtime does not support. */
  async function preparedMessage(
    row: SessionRow,
    event: SentMessage,
    { at, content, caller }: { readonly at: number; readonly content: string; readonly caller: Caller },
  ): Promise<PreparedMessage> {
    if (event.type === 'user.message') return rules.prepare(row, sentParts(event.content, content), caller)
    const place = `events[${at}]`
    await checkOutcomes(deps, { runtime: row.runtime, field: place })
    return outcomeMessage(deps, event, { place, sender: caller.principal })
  }

  return async (
    id: string,
    sent: readonly SentEvent[],
    caller: Caller,
    { places, record }: Sending = {},
  ): Promise<SessionEvent[]> => {
    const placeOf = (at: number) => places?.[at] ?? `events[${at}].content`
    const row = await rules.open(id, caller)
    const model = await modelOfSession(deps, row)
    const mode = await rules.busyModeOf(row)
    const targets = await targetsOf(id, sent, caller)
    const targetOf = (event: SentEvent) => targets.get(event)?.id ?? id
    for (const event of sent)
      if (event.type === 'user.tool_confirmation')
        await approvals.checkInput(targets.get(event) ?? row, verdictOf(event))
    const messages = new Map<SentMessage, PreparedMessage>()
    for (const [at, event] of sent.entries())
      if (isMessage(event)) messages.set(event, await preparedMessage(row, event, { at, content: placeOf(at), caller }))
    const messageOf = (message: SentMessage) => {
      const prepared = messages.get(message)
      if (!prepared) throw new Error(`an event of type ${message.type} was not prepared (bug)`)
      return prepared
    }
    const resultOf = await checkedResults(sent, placeOf)
    const stored = await rules.eventTransaction(async (client, unpublished) => {
      await store.lock(client, id)
      const repeated: SessionEvent[] = []
      for (const event of sent) {
        const target = targetOf(event)
        // Sessions are locked from the top down.
        if (target !== id) await store.lock(client, target)
        const earlier = await accept(client, target, event, { caller, model, mode, messageOf, resultOf, unpublished })
        if (earlier) repeated.push(inThread(earlier, target, id))
      }
      // Events that follow from the sent ones are only in the log.
      const isOfClient = isSent(unpublished)
      const added = unpublished.flatMap(({ sessionId, events }) =>
        events.filter(isOfClient).map(event => inThread(event, sessionId, id)),
      )
      const all = [...repeated, ...added]
      await record?.(client, all)
      return all
    })
    for (const target of new Set(sent.filter(isAnswer).map(targetOf))) deps.onAnswered(target)
    return stored
  }
}

/** Checks the results of custom tools before the transaction. Throws `invalid_request`. */
async function checkedResults(
  sent: readonly SentEvent[],
  placeOf: (at: number) => string,
): Promise<(result: SentResult) => CheckedAnswer> {
  const checked = new Map<SentResult, CheckedAnswer>()
  for (const [at, event] of sent.entries()) {
    if (event.type !== 'user.custom_tool_result') continue
    checked.set(event, await checkedAnswer({ ...event, id: event.custom_tool_use_id }, placeOf(at)))
  }
  return result => {
    const found = checked.get(result)
    if (!found) throw new Error(`result of ${result.custom_tool_use_id} was not checked (bug)`)
    return found
  }
}

const isMessage = (event: SentEvent): event is SentMessage =>
  event.type === 'user.message' || event.type === 'user.define_outcome'

/** Returns a filter for the events that clients send. The message of an outcome follows from its definition. */
function isSent(stored: readonly Appended[]): (event: SessionEvent) => boolean {
  const outcomes = stored.flatMap(({ events }) => events.filter(({ type }) => type === 'user.define_outcome'))
  const withOutcome = new Set(outcomes.map(({ prompt_id }) => prompt_id))
  return ({ type, prompt_id }) => type.startsWith('user.') && !(type === 'user.message' && withOutcome.has(prompt_id))
}

const isAnswer = (event: SentEvent): event is SentAnswer =>
  event.type === 'user.tool_confirmation' || event.type === 'user.custom_tool_result'

const callOf = (event: SentAnswer): string =>
  event.type === 'user.tool_confirmation' ? event.tool_use_id : event.custom_tool_use_id

/** Returns an event of the session `of` as a reader of the session `seenFrom` sees it. */
const inThread = (event: SessionEvent, of: string, seenFrom: string): SessionEvent =>
  of === seenFrom ? event : ({ ...event, session_thread_id: of } as SessionEvent)

const verdictOf = ({
  tool_use_id,
  result,
  deny_message,
  input,
}: Extract<SentEvent, { type: 'user.tool_confirmation' }>) => ({
  id: tool_use_id,
  result,
  message: deny_message ?? undefined,
  input,
})
