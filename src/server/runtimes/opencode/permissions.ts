import { type Batch, type Decision, isFailureWithStatus, requiresAction } from '../runtime.ts'
import type { PermissionRequest } from './api.ts'
import type { PendingPermission } from './state.ts'
import { refsOf, retryLater, store, type Turn } from './turn.ts'

/** Asks a person about a permission request. The question is stored before it can be answered. */
export async function* requestApproval(turn: Turn, request: PermissionRequest): AsyncGenerator<Batch> {
  const { transcript, progress } = turn
  const { state } = progress
  if (!state || state.asks.some(({ id }) => id === request.id)) return
  const called = request.callId === undefined ? undefined : transcript.eventOfCall(request.callId)
  const added = called === undefined ? [transcript.addCall(nameOf(request))] : []
  const eventId = called ?? added[0]?.id ?? ''
  const pending: PendingPermission = { id: request.id, sessionId: request.sessionId, isOlder: request.isOlder, eventId }
  progress.state = { ...state, asks: [...state.asks, pending] }
  const decision = turn.decisions.get(eventId)
  if (decision) return yield* decided(turn, pending, decision)
  const waiting = new Set(progress.state.asks.map(open => open.eventId))
  const uses = added.map(use => ({ ...use, evaluated_permission: 'ask' as const }))
  transcript.isWaiting = true
  yield { events: [...uses, requiresAction([...waiting])], refs: refsOf(turn) }
  awaitDecision(turn, pending)
}

/** A call that is not in the log, such as one of a subagent, gets an event of its own. */
const nameOf = ({ id, permission, input }: PermissionRequest) => ({ id, name: permission, input })

/** Waits for the decisions about questions of an earlier owner. */
export function awaitPendingDecisions(turn: Turn): void {
  for (const pending of turn.progress.state?.asks ?? []) awaitDecision(turn, pending)
}

function awaitDecision({ context, inbox }: Turn, pending: PendingPermission): void {
  context.decision(pending.eventId).then(
    decision => inbox.put({ kind: 'decided', permission: pending, decision }),
    (error: unknown) => inbox.put({ kind: 'broken', error }),
  )
}

/** Sends a person's decision. */
export async function* decided(turn: Turn, pending: PendingPermission, decision: Decision): AsyncGenerator<Batch> {
  if (!isOpen(turn, pending.id)) return
  const isAllowed = decision.result === 'allow'
  const place = turn.transcript.mcpToolOf(pending.eventId)
  // A call may ask several times; it runs once.
  if (isAllowed && place && !turn.decisions.has(pending.eventId)) turn.mcp.approve(place)
  turn.decisions.set(pending.eventId, decision)
  const reply = { reply: isAllowed ? 'once' : 'reject', message: isAllowed ? undefined : decision.message } as const
  try {
    await turn.api.replyPermission(pending, reply, turn.context.signal)
    turn.progress.failures = 0
  } catch (failure) {
    // 404: the request was answered elsewhere, or the call was cancelled.
    if (!isFailureWithStatus(failure, 404)) {
      await retryLater(turn, failure)
      await turn.inbox.put({ kind: 'decided', permission: pending, decision })
      return
    }
  }
  yield* settled(turn, pending.id, isAllowed)
}

/** Closes a question that was answered, by us or at the runtime. */
export async function* settled(turn: Turn, id: string, isAllowed: boolean): AsyncGenerator<Batch> {
  const { progress, transcript } = turn
  if (!progress.state || !isOpen(turn, id)) return
  progress.state = { ...progress.state, asks: progress.state.asks.filter(open => open.id !== id) }
  const result = transcript.endCall(id, { text: isAllowed ? 'allowed' : 'denied', isError: !isAllowed })
  const running = progress.state.asks.length === 0 ? transcript.endWaiting() : []
  yield* store(turn, [...result, ...running])
}

const isOpen = ({ progress }: Turn, id: string): boolean =>
  progress.state?.asks.some(permission => permission.id === id) ?? false
