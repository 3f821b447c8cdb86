import type { Decision } from '../runtimes/runtime.ts'
import type { Answered, ApprovalStore } from './approval-store.ts'
import { whileHeld } from './event-log.ts'
import type { HeldSession } from './leases.ts'
import type { LiveEvents } from './live-events.ts'
import { lookUntil } from './look-until.ts'

interface Wait {
  readonly held: HeldSession
  readonly signal: AbortSignal
  readonly isDraining: () => boolean
}

/** How long a lost hint, or the wish to hand the session over, goes unnoticed. */
const checkMs = 500

/** Waits for what is said to the tool call of `eventId`; undefined when the run has to end before. */
export async function awaitDecision(
  { approvals, live }: { approvals: Pick<ApprovalStore, 'answer'>; live: Pick<LiveEvents, 'subscribe'> },
  eventId: string,
  { held, signal, isDraining }: Wait,
): Promise<Decision | undefined> {
  const look = async () => {
    if (isDraining()) return 'draining'
    const answer = await whileHeld(held, () => approvals.answer(eventId))
    if (!answer) throw new Error(`a decision is awaited on ${eventId}, which does not ask`)
    return answer.state === 'pending' ? undefined : decisionOf(answer)
  }
  const found = await lookUntil({ live, sessionId: held.sessionId, signal, checkMs }, look)
  return found === 'draining' ? undefined : found
}

const unanswered = {
  expired: 'nobody allowed the call in time',
  cancelled: 'the question was withdrawn',
} as const

function decisionOf({ state, message }: Answered): Decision {
  if (state === 'allowed') return { result: 'allow', message: undefined }
  if (state === 'expired' || state === 'cancelled') return { result: 'deny', message: unanswered[state] }
  return { result: 'deny', message: message ?? undefined }
}
