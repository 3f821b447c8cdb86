import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import type { CustomToolCall, CustomToolCallState } from '../../../contract/custom-tools.ts'
import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import type { EventStore } from '../log/event-store.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import { type CheckedAnswer, type CustomToolAnswer, checkedAnswer } from './custom-tool-result.ts'
import type { CustomToolStore, StoredCall } from './custom-tool-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: CustomToolStore
  readonly events: Pick<EventStore, 'byId'>
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly eventLog: EventLog
  readonly wakeUps: Pick<WakeUps, 'send'>
  /** Called with the session of each answer, after its commit. */
  readonly onAnswered: (sessionId: string) => void
}

interface ListFilter {
  readonly sessionId: string | undefined
  readonly state: CustomToolCallState | undefined
}

interface Answering {
  readonly answer: CheckedAnswer
  readonly caller: Caller
  readonly unpublished: Appended[]
}

/** The rules of custom tool calls: each is answered once, by a caller who may see its session. */
export type CustomToolCalls = ReturnType<typeof createCustomToolCalls>

export function createCustomToolCalls({ pool, store, events, sessions, eventLog, wakeUps, onAnswered }: Deps) {
  /** Appends the event of a new answer and wakes the session. */
  async function record(
    client: PoolClient,
    { call, eventId, answer }: { readonly call: StoredCall; readonly eventId: string; readonly answer: CheckedAnswer },
    unpublished: Appended[],
  ): Promise<void> {
    const { id, session_id: sessionId, tool_use_id } = call
    const event: NewEvent = {
      id: eventId,
      type: 'user.custom_tool_result',
      custom_tool_use_id: id,
      tool_use_id,
      content: answer.content,
      ...(answer.isError && { is_error: true }),
    }
    unpublished.push(await eventLog.appendByCaller(client, sessionId, [event]))
    await sessions.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
  }

  /**
   * Requires a transaction that has locked the session; adds the event to `unpublished`. Returns the event of the first
   * answer when this one repeats it.
   */
  async function answerWithin(
    client: PoolClient,
    sessionId: string,
    { answer, caller, unpublished }: Answering,
  ): Promise<SessionEvent | undefined> {
    const call = await store.find(client, sessionId, answer.id)
    if (!call) throw notFound('custom tool call', answer.id)
    const eventId = newId('evt')
    const { shown: content, isError } = answer
    if (await store.answer(client, call.id, { content, isError, eventId, by: caller.principal })) {
      await record(client, { call, eventId, answer }, unpublished)
      return undefined
    }
    if (!isSameAnswer(call, answer)) throw new AppError('conflict', refusalOf(call))
    return events.byId(client, sessionId, call.answer_id ?? '')
  }

  return {
    answerWithin,

    /** Answers a call, whichever process runs its session. Returns the record after the answer. */
    async answer(sent: CustomToolAnswer, caller: Caller): Promise<CustomToolCall> {
      const answer = await checkedAnswer(sent, 'content')
      const sessionId = await store.sessionOf(answer.id, caller.ownerScope)
      if (sessionId === undefined) throw notFound('custom tool call', answer.id)
      const unpublished: Appended[] = []
      const answered = await transaction(pool, async client => {
        await sessions.lock(client, sessionId)
        await answerWithin(client, sessionId, { answer, caller, unpublished })
        return store.find(client, sessionId, answer.id)
      })
      for (const appended of unpublished) eventLog.publish(appended)
      onAnswered(sessionId)
      if (!answered) throw new Error(`custom tool call ${answer.id} is missing right after its answer (bug)`)
      return shownCall(answered)
    },

    list: async (
      { sessionId, state }: ListFilter,
      caller: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<CustomToolCall[]> => {
      const filter = { owner: caller.ownerScope, sessionId, state, cursor: page.after, limit: page.limit }
      return (await store.list(filter)).map(shownCall)
    },
  }
}

const shownCall = ({ answer_id: _id, ...call }: StoredCall): CustomToolCall => call

const isSameAnswer = ({ state, content, is_error }: StoredCall, { shown, isError }: CheckedAnswer): boolean =>
  state === 'answered' && is_error === isError && isDeepStrictEqual(content, shown)

function refusalOf({ id, state }: StoredCall): string {
  return state === 'answered'
    ? `custom tool call ${id} already has another answer; only the first one counts`
    : `custom tool call ${id} is ${state}; only a pending one can be answered`
}
