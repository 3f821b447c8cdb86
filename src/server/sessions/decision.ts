import { pause } from '../platform/timers.ts'
import type { Decision } from '../runtimes/runtime.ts'
import type { Answered, ApprovalStore } from './approval-store.ts'
import { whileHeld } from './event-log.ts'
import type { HeldSession } from './leases.ts'
import type { LiveEvents } from './live-events.ts'

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
  const subscription = live.subscribe(held.sessionId)
  try {
    while (!signal.aborted && !isDraining()) {
      const settled = new AbortController()
      const either = AbortSignal.any([signal, settled.signal])
      // Listening begins before the look, so that no change falls in between.
      const change = subscription.change(either)
      const answer = await whileHeld(held, () => approvals.answer(eventId))
      if (!answer) throw new Error(`a decision is awaited on ${eventId}, which does not ask`)
      if (answer.state === 'pending') await Promise.race([change, pause(checkMs, either)])
      settled.abort()
      if (answer.state !== 'pending') return decisionOf(answer)
    }
    return undefined
  } finally {
    subscription.close()
  }
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
