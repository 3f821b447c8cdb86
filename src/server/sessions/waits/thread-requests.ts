import type { PoolClient } from 'pg'
import type { NewEvent } from '../../../contract/events.ts'
import type { EventTransaction } from '../event-transaction.ts'
import type { Appended, EventLog } from '../log/event-log.ts'
import type { EventStore } from '../log/event-store.ts'
import type { SessionStore } from '../session-store.ts'
import { contentInWords } from './custom-tool-result.ts'
import type { CallingSession, ThreadAnswer, ThreadCall, ThreadRequestStore } from './thread-request-store.ts'

interface Deps {
  readonly store: ThreadRequestStore
  readonly sessions: Pick<SessionStore, 'lock'>
  readonly events: Pick<EventStore, 'byId'>
  readonly eventLog: Pick<EventLog, 'appendByCaller'>
  readonly eventTransaction: EventTransaction
}

/**
 * Shows in the log of a calling session what the sessions that it has called ask a person or a client, and what was
 * answered. The events are copies with the ids of the originals; a call of a call reaches the first session level by
 * level.
 */
export type ThreadRequests = ReturnType<typeof createThreadRequests>

export function createThreadRequests({ store, sessions, events, eventLog, eventTransaction }: Deps) {
  /** Returns copies of the events that ask, as the log of the called session has them. */
  async function requested(client: PoolClient, { child_id }: ThreadCall, ids: readonly string[]): Promise<NewEvent[]> {
    const found: NewEvent[] = []
    for (const id of ids) {
      const event = await events.byId(client, child_id, id)
      if (!event) continue
      const { seq: _seq, processed_at: _time, source_event_id: _source, ...copy } = event
      found.push({ ...copy, session_thread_id: copy.session_thread_id ?? child_id } as NewEvent)
    }
    return found
  }

  async function answered(client: PoolClient, sessionId: string, call: ThreadCall): Promise<NewEvent[]> {
    const over = call.requests.filter(id => !call.requests_now.includes(id))
    if (over.length === 0) return []
    const found: NewEvent[] = []
    for (const answer of await store.answers(client, over)) {
      const asked = await events.byId(client, sessionId, answer.id)
      found.push(answerEvent(answer, asked?.session_thread_id ?? call.child_id))
    }
    return found
  }

  async function changesOf(client: PoolClient, sessionId: string, call: ThreadCall): Promise<NewEvent[]> {
    const { requests, requests_now: now } = call
    if (!isChanged(call)) return []
    const fresh = now.filter(id => !requests.includes(id))
    return [
      ...(await answered(client, sessionId, call)),
      ...(await requested(client, call, fresh)),
      ...statusChange(call),
    ]
  }

  /**
   * Requires a transaction that has locked the session; adds the events to `unpublished`. Returns whether the requests
   * that the log shows have changed.
   */
  async function showWithin(client: PoolClient, sessionId: string, unpublished: Appended[]): Promise<boolean> {
    const calls = await store.callsOf(client, sessionId)
    if (calls.length === 0) return false
    const changes: NewEvent[] = []
    for (const call of calls) changes.push(...(await changesOf(client, sessionId, call)))
    const caller = await store.callingSession(client, sessionId)
    const isIdle = asksOnly(calls, caller)
    changes.push(...sessionStatus(calls, caller, isIdle))
    if (changes.length > 0) unpublished.push(await eventLog.appendByCaller(client, sessionId, changes))
    for (const call of calls) await store.logged(client, call.id, call.requests_now, isIdle && call.is_running)
    return calls.some(isChanged)
  }

  return {
    showWithin,

    /**
     * Shows the requests of now in the logs of all sessions that have called others, or of those among `sessionIds`,
     * callers or called. Returns the sessions whose logs show other requests than before.
     */
    async show(sessionIds?: readonly string[]): Promise<string[]> {
      const changed: string[] = []
      for (const id of await store.behind(sessionIds)) {
        const hasChanged = await eventTransaction(async (client, unpublished) => {
          await sessions.lock(client, id)
          return showWithin(client, id, unpublished)
        })
        if (hasChanged) changed.push(id)
      }
      return changed
    },
  }
}

const isChanged = ({ requests, requests_now: now }: ThreadCall): boolean =>
  requests.length !== now.length || requests.some((id, at) => id !== now[at])

/** True while the calling session waits for sessions that all ask something. */
function asksOnly(calls: readonly ThreadCall[], { is_parked }: CallingSession): boolean {
  const running = calls.filter(call => call.is_running)
  return is_parked && running.length > 0 && running.every(({ requests_now: now }) => now.length > 0)
}

/** Returns the status of the calling session when the log does not show it yet. */
function sessionStatus(
  calls: readonly ThreadCall[],
  { own_requests, is_busy }: CallingSession,
  isIdle: boolean,
): NewEvent[] {
  const running = calls.filter(call => call.is_running)
  const threads = { session_thread_ids: running.map(({ child_id }) => child_id) }
  if (!isIdle) {
    const wasIdle = calls.some(call => call.is_idle_logged)
    return wasIdle && is_busy ? [{ type: 'session.status_running', ...threads }] : []
  }
  if (!calls.some(call => isChanged(call) || (call.is_running && !call.is_idle_logged))) return []
  const event_ids = [...own_requests, ...running.flatMap(({ requests_now: now }) => now)]
  return [
    {
      type: 'session.status_idle',
      stop_reason: { type: 'requires_action', event_ids },
      stop_details: null,
      ...threads,
    },
  ]
}

/** Returns the status that a running call has after a change. */
function statusChange({ child_id, tool_use_id, agent_name, is_running, requests_now: now }: ThreadCall): NewEvent[] {
  if (!is_running) return []
  const thread = { session_thread_id: child_id, tool_use_id, agent_name }
  if (now.length === 0) return [{ type: 'session.thread_status_running', ...thread }]
  const stop_reason = { type: 'requires_action', event_ids: now } as const
  return [{ type: 'session.thread_status_idle', ...thread, stop_reason, stop_details: null }]
}

function answerEvent(answer: ThreadAnswer, session_thread_id: string): NewEvent {
  if (answer.kind === 'confirmation') {
    const { id, result, message, input, decided_by } = answer
    return {
      type: 'user.tool_confirmation',
      tool_use_id: id,
      result,
      ...(message !== null && { deny_message: message }),
      ...(input !== null && { input }),
      ...(decided_by !== null && { decided_by }),
      session_thread_id,
    }
  }
  const { id, tool_use_id, content, is_error } = answer
  return {
    type: 'user.custom_tool_result',
    custom_tool_use_id: id,
    tool_use_id,
    content: contentInWords(content ?? []),
    ...(is_error && { is_error }),
    session_thread_id,
  }
}
