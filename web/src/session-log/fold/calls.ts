import type { Approval, CallState, EventOf, ToolCall } from '../view.ts'
import type { Place } from './bookmarks.ts'
import type { Draft } from './draft.ts'
import { callOf } from './new-parts.ts'
import { addOutput } from './requests.ts'
import { answerWait, note } from './runs.ts'

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
  answerWait(draft, event.custom_tool_use_id, event.processed_at)
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
  const isStopping = draft.view.run?.stopRequestedAt !== undefined
  const state = isError ? errorStateOf(call, event, isStopping) : 'done'
  const approval = closedApproval(call)
  draft.changeItem<ToolCall>(place, { result, state, approval, eventIds: [...call.eventIds, event.id] })
  close(draft, call, place, event.processed_at)
}

/** Start of the result that a call gets after a crash. */
const unknownOutcome = /^interrupted; outcome unknown/

function errorStateOf({ approval, runsAt }: ToolCall, event: ResultEvent, isStopping: boolean): CallState {
  if (approval?.state === 'denied' || approval?.state === 'expired') return approval.state
  const [first] = event.content ?? []
  if (first && 'text' in first && unknownOutcome.test(String(first.text))) return 'outcome unknown'
  if (isStopping) return 'stopped'
  // The service answers for a client that did not.
  return runsAt === 'client' && event.type !== 'user.custom_tool_result' ? 'expired' : 'failed'
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

const callStates = {
  denied: 'denied',
  expired: 'expired',
  cancelled: 'stopped',
  pending: 'waiting for approval',
} as const

function decide(
  draft: Draft,
  event: EventOf<'user.tool_confirmation' | 'session.approval_expired'>,
  approval: Approval,
): void {
  answerWait(draft, event.tool_use_id, event.processed_at)
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

/** Ends the open calls that have no result when their run has ended: all, or those of one called session. */
export function stopCalls(draft: Draft, endedAt: string, threadId?: string): void {
  for (const place of [...draft.view.bookmarks.openByEvent.values()]) {
    const call = draft.itemAt(place)
    if (call?.kind !== 'tool' || (threadId !== undefined && call.threadId !== threadId)) continue
    draft.changeItem<ToolCall>(place, { state: 'stopped', approval: closedApproval(call) })
    close(draft, call, place, endedAt)
  }
}

/** The approval of a call that has ended: it can no longer be answered. */
const closedApproval = ({ approval }: ToolCall): Approval | undefined =>
  approval?.state === 'pending' ? { ...approval, state: 'cancelled' } : approval
