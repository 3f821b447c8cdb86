import { type Batch, type Decision, isRefusal, requiresAction } from '../runtime.ts'
import type { PermissionRequest } from './api.ts'
import type { Ask } from './state.ts'
import { refsOf, setBack, store, type Turn } from './turn.ts'

/** Asks a person about what opencode wants to run. The question is stored before anybody can answer it. */
export async function* ask(turn: Turn, request: PermissionRequest): AsyncGenerator<Batch> {
  const { transcript, progress } = turn
  const { state } = progress
  if (!state || state.asks.some(({ id }) => id === request.id)) return
  const called = request.callId === undefined ? undefined : transcript.eventOfCall(request.callId)
  const added = called === undefined ? [transcript.addCall(nameOf(request))] : []
  const eventId = called ?? added[0]?.id ?? ''
  const asked: Ask = { id: request.id, sessionId: request.sessionId, isOlder: request.isOlder, eventId }
  progress.state = { ...state, asks: [...state.asks, asked] }
  const decision = turn.decisions.get(eventId)
  if (decision) return yield* decided(turn, asked, decision)
  const waiting = new Set(progress.state.asks.map(open => open.eventId))
  const uses = added.map(use => ({ ...use, evaluated_permission: 'ask' }))
  transcript.isWaiting = true
  yield { events: [...uses, requiresAction([...waiting])], refs: refsOf(turn) }
  awaitDecision(turn, asked)
}

/** A call that the log does not know, such as one of a subagent, stands for itself. */
const nameOf = ({ id, permission, input }: PermissionRequest) => ({ id, name: permission, input })

/** Waits for the answers to what an owner before us has asked. */
export function askAgain(turn: Turn): void {
  for (const asked of turn.progress.state?.asks ?? []) awaitDecision(turn, asked)
}

function awaitDecision({ context, inbox }: Turn, asked: Ask): void {
  context.decision(asked.eventId).then(
    decision => inbox.put({ kind: 'decided', ask: asked, decision }),
    (error: unknown) => inbox.put({ kind: 'broken', error }),
  )
}

/** Hands on what a person said. */
export async function* decided(turn: Turn, asked: Ask, decision: Decision): AsyncGenerator<Batch> {
  if (!isOpen(turn, asked.id)) return
  turn.decisions.set(asked.eventId, decision)
  const isAllowed = decision.result === 'allow'
  const reply = { reply: isAllowed ? 'once' : 'reject', message: isAllowed ? undefined : decision.message } as const
  try {
    await turn.api.replyPermission(asked, reply, turn.context.signal)
    turn.progress.failures = 0
  } catch (failure) {
    // 404: somebody else has answered, or the call was given up.
    if (!isRefusal(failure, 404)) {
      await setBack(turn, failure)
      await turn.inbox.put({ kind: 'decided', ask: asked, decision })
      return
    }
  }
  yield* settled(turn, asked.id, isAllowed)
}

/** A question that has been answered, by us or by somebody at the runtime. */
export async function* settled(turn: Turn, id: string, isAllowed: boolean): AsyncGenerator<Batch> {
  const { progress, transcript } = turn
  if (!progress.state || !isOpen(turn, id)) return
  progress.state = { ...progress.state, asks: progress.state.asks.filter(open => open.id !== id) }
  const result = transcript.endCall(id, { text: isAllowed ? 'allowed' : 'denied', isError: !isAllowed })
  const running = progress.state.asks.length === 0 ? transcript.endWaiting() : []
  yield* store(turn, [...result, ...running])
}

const isOpen = ({ progress }: Turn, id: string): boolean => progress.state?.asks.some(ask => ask.id === id) ?? false
