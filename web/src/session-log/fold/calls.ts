import type { Content } from '../../../../src/contract/events.ts'
import type { Approval, CallState, EventOf, ToolCall } from '../view.ts'
import type { Place } from './bookmarks.ts'
import type { Draft } from './draft.ts'
import { callOf } from './new-parts.ts'
import { addOutput } from './requests.ts'
import { note } from './runs.ts'

export function startCall(
  draft: Draft,
  event: EventOf<'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use'>,
): void {
  const call = callOf(event)
  const place = addOutput(draft, event, call)
  // The call of a called session has its result in the log of that session.
  if (call.threadId === undefined) draft.mark('openCalls', call.callId, place)
  else draft.mark('openCalls', call.key, place)
  draft.mark('openByEvent', call.key, place)
}

export function endCall(draft: Draft, event: EventOf<'agent.tool_result' | 'agent.mcp_tool_result'>): void {
  const id = event.tool_use_id ?? event.mcp_tool_use_id ?? ''
  settle(draft, event, draft.placeOf('openCalls', id))
}

/** The answer of a client. */
export function answerCall(draft: Draft, event: EventOf<'user.custom_tool_result'>): void {
  settle(draft, event, draft.placeOf('openByEvent', event.custom_tool_use_id))
}

type ResultEvent = EventOf<'agent.tool_result' | 'agent.mcp_tool_result' | 'user.custom_tool_result'>

function settle(draft: Draft, event: ResultEvent, place: Place | undefined): void {
  const call = place && draft.itemAt(place)
  draft.changeRun({ steppedAt: event.processed_at })
  if (!place || call?.kind !== 'tool') {
    note(draft, event)
    return
  }
  const { content = [], is_error: isError = false } = event
  const result = { content, isError, at: event.processed_at }
  const state = endStateOf(call, content, isError)
  draft.changeItem<ToolCall>(place, { result, state, eventIds: [...call.eventIds, event.id] })
  close(draft, call, place, event.processed_at)
}

/** Start of the result that a call gets after a crash. */
const unknownOutcome = /^interrupted; outcome unknown/

function endStateOf({ approval }: ToolCall, content: Content, isError: boolean): CallState {
  if (!isError) return 'done'
  if (approval?.state === 'denied' || approval?.state === 'expired') return approval.state
  const [first] = content
  return first && 'text' in first && unknownOutcome.test(String(first.text)) ? 'outcome unknown' : 'failed'
}

export function decideCall(draft: Draft, event: EventOf<'user.tool_confirmation'>): void {
  const isAllowed = event.result === 'allow'
  decide(draft, event, {
    state: isAllowed ? 'allowed' : 'denied',
    decidedAt: event.processed_at,
    decidedBy: event.decided_by,
    message: event.deny_message ?? undefined,
    ...(event.input !== undefined && { editedInput: event.input }),
  })
}

export function expireCall(draft: Draft, event: EventOf<'session.approval_expired'>): void {
  decide(draft, event, {
    state: 'expired',
    decidedAt: event.expired_at,
    decidedBy: undefined,
    message: undefined,
  })
}

const callStates = { denied: 'denied', expired: 'expired', pending: 'waiting for approval' } as const

function decide(
  draft: Draft,
  event: EventOf<'user.tool_confirmation' | 'session.approval_expired'>,
  approval: Approval,
): void {
  const place = draft.placeOf('openByEvent', event.tool_use_id)
  const call = place && draft.itemAt(place)
  if (!place || call?.kind !== 'tool') {
    note(draft, event)
    return
  }
  const state = stateAfter(call, approval)
  draft.changeItem<ToolCall>(place, { approval, state, eventIds: [...call.eventIds, event.id] })
  if (call.threadId !== undefined) close(draft, call, place, event.processed_at)
}

/** What the call does after the decision. That of a called session continues in the log of that session. */
function stateAfter(call: ToolCall, { state }: Approval): CallState {
  if (state !== 'allowed') return callStates[state]
  if (call.threadId !== undefined) return 'done'
  return call.runsAt === 'client' ? 'waiting for client' : 'running'
}

function close(draft: Draft, call: ToolCall, place: Place, endedAt: string): void {
  draft.changeItem<ToolCall>(place, { endedAt })
  draft.unmark('openCalls', call.threadId === undefined ? call.callId : call.key)
  draft.unmark('openByEvent', call.key)
}

/** The called session no longer asks: its calls ended without an answer that this log has. */
export function stopThreadCalls(draft: Draft, threadId: string, endedAt: string): void {
  for (const place of [...draft.view.bookmarks.openByEvent.values()]) {
    const call = draft.itemAt(place)
    if (call?.kind !== 'tool' || call.threadId !== threadId) continue
    draft.changeItem<ToolCall>(place, { state: 'stopped' })
    close(draft, call, place, endedAt)
  }
}
