import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { Decision } from '../../runtimes/runtime.ts'
import { type Writer, whileLeased } from '../log/event-log.ts'
import type { LiveEvents } from '../log/live-events.ts'
import { pollUntil } from '../log/poll-until.ts'
import type { ApprovalDecision, ApprovalStore } from './approval-store.ts'

interface Wait {
  readonly sessionId: string
  /** Aborts when the run must end or be handed over. */
  readonly signal: AbortSignal
}

/**
 * Poll interval in milliseconds. Decisions are logged, so readers of the log are notified; the poll covers lost
 * notifications.
 */
const checkMs = 120_000

/** Returns the decision on the tool call of event `eventId`; undefined while it is pending. */
export async function decisionOn(
  { approvals }: { approvals: Pick<ApprovalStore, 'answer'> },
  eventId: string,
  leased: Writer,
): Promise<Decision | undefined> {
  return decisionIn(await whileLeased(leased, () => approvals.answer(eventId)), eventId)
}

/**
 * Waits for the decision on the tool call of `eventId`. Returns undefined when the signal aborts first. Needs no lease,
 * which may be released meanwhile.
 */
export async function awaitDecision(
  { approvals, live }: { approvals: Pick<ApprovalStore, 'answer'>; live: Pick<LiveEvents, 'subscribe'> },
  eventId: string,
  { sessionId, signal }: Wait,
): Promise<Decision | undefined> {
  const check = async (): Promise<Decision | undefined> => {
    try {
      return decisionIn(await approvals.answer(eventId), eventId)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, signal)
      return signal.aborted ? undefined : check()
    }
  }
  return pollUntil({ live, sessionId, signal, checkMs }, check)
}

function decisionIn(answer: ApprovalDecision | undefined, eventId: string): Decision | undefined {
  if (!answer) throw new Error(`event ${eventId} does not require approval, but a run waits for it (bug)`)
  return answer.state === 'pending' ? undefined : decisionOf(answer)
}

const retryMs = 1_000

const unanswered = {
  expired: 'approval expired without a decision',
  cancelled: 'approval was cancelled',
} as const

function decisionOf({ state, message }: ApprovalDecision): Decision {
  if (state === 'allowed') return { result: 'allow', message: undefined }
  if (state === 'expired' || state === 'cancelled') return { result: 'deny', message: unanswered[state] }
  return { result: 'deny', message: message ?? undefined }
}
