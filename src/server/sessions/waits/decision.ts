import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { Decision } from '../../runtimes/runtime.ts'
import { type Writer, whileHeld } from '../log/event-log.ts'
import type { LiveEvents } from '../log/live-events.ts'
import { lookUntil } from '../log/look-until.ts'
import type { Answered, ApprovalStore } from './approval-store.ts'

interface Wait {
  readonly sessionId: string
  /** Aborts when the run has to end, or to be handed over. */
  readonly signal: AbortSignal
}

/** How long a question may be open for longer than it should. What is said stands in the log, whose readers hear of it. */
const checkMs = 120_000

/** What was said to the tool call of `eventId`; undefined while nobody has said anything. */
export async function decisionOn(
  { approvals }: { approvals: Pick<ApprovalStore, 'answer'> },
  eventId: string,
  held: Writer,
): Promise<Decision | undefined> {
  return decisionIn(await whileHeld(held, () => approvals.answer(eventId)), eventId)
}

/**
 * Waits for what is said to the tool call of `eventId`; undefined when the signal aborts before. It does without the lease, which
 * may be given up meanwhile.
 */
export async function awaitDecision(
  { approvals, live }: { approvals: Pick<ApprovalStore, 'answer'>; live: Pick<LiveEvents, 'subscribe'> },
  eventId: string,
  { sessionId, signal }: Wait,
): Promise<Decision | undefined> {
  const look = async (): Promise<Decision | undefined> => {
    try {
      return decisionIn(await approvals.answer(eventId), eventId)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, signal)
      return signal.aborted ? undefined : look()
    }
  }
  return lookUntil({ live, sessionId, signal, checkMs }, look)
}

function decisionIn(answer: Answered | undefined, eventId: string): Decision | undefined {
  if (!answer) throw new Error(`a decision is awaited on ${eventId}, which does not ask`)
  return answer.state === 'pending' ? undefined : decisionOf(answer)
}

const retryMs = 1_000

const unanswered = {
  expired: 'nobody allowed the call in time',
  cancelled: 'the question was withdrawn',
} as const

function decisionOf({ state, message }: Answered): Decision {
  if (state === 'allowed') return { result: 'allow', message: undefined }
  if (state === 'expired' || state === 'cancelled') return { result: 'deny', message: unanswered[state] }
  return { result: 'deny', message: message ?? undefined }
}
