import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { Decision } from '../../runtimes/runtime.ts'
import { type EventLog, type Writer, whileLeased } from '../log/event-log.ts'
import type { LiveEvents } from '../log/live-events.ts'
import { pollUntil } from '../log/poll-until.ts'
import type { ApprovalAnswer, ApprovalStore } from './approval-store.ts'

interface Deps {
  readonly approvals: Pick<ApprovalStore, 'answer' | 'expire'>
  readonly eventLog: Pick<EventLog, 'append'>
}

interface Wait {
  readonly leased: Writer
  /** Aborts when the run must end or be handed over. */
  readonly signal: AbortSignal
}

/**
 * Poll interval in milliseconds. Decisions are logged, so readers of the log are notified; the poll covers lost
 * notifications.
 */
const checkMs = 120_000
const retryMs = 1_000

/** Returns the decision on the tool call of event `eventId`; undefined while it is pending. */
export async function decisionOn(deps: Deps, eventId: string, leased: Writer): Promise<Decision | undefined> {
  const answer = answerIn(await whileLeased(leased, () => deps.approvals.answer(eventId)), eventId)
  return answer.state === 'pending' ? undefined : decided(deps, { eventId, answer, leased })
}

/**
 * Waits for the decision on the tool call of `eventId`. Returns undefined when the signal aborts first. Needs no lease,
 * which may be released meanwhile.
 */
export async function awaitDecision(
  { live, ...deps }: Deps & { live: Pick<LiveEvents, 'subscribe'> },
  eventId: string,
  { leased, signal }: Wait,
): Promise<Decision | undefined> {
  const { approvals } = deps
  let leftMs = checkMs
  const check = async (): Promise<ApprovalAnswer | undefined> => {
    try {
      const answer = answerIn(await approvals.answer(eventId), eventId)
      leftMs = Math.max(1, Math.ceil(answer.left_ms))
      return answer.state === 'pending' ? undefined : answer
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, signal)
      return signal.aborted ? undefined : check()
    }
  }
  const wait = () => Math.min(checkMs, leftMs)
  const answer = await pollUntil({ live, sessionId: leased.sessionId, signal, checkMs: wait }, check)
  return answer && decided(deps, { eventId, answer, leased })
}

function answerIn(answer: ApprovalAnswer | undefined, eventId: string): ApprovalAnswer {
  if (!answer) throw new Error(`event ${eventId} does not require approval, but a run waits for it (bug)`)
  return answer
}

interface Decided {
  readonly eventId: string
  readonly answer: ApprovalAnswer
  readonly leased: Writer
}

/** Returns the decision. Logs the expiry of an approval that was not decided in time, once. */
async function decided({ approvals, eventLog }: Deps, { eventId, answer, leased }: Decided): Promise<Decision> {
  if (!answer.is_unlogged) return decisionOf(answer)
  const expired_at = answer.expires_at.toISOString()
  const expired = { type: 'session.approval_expired', tool_use_id: eventId, expired_at } as const
  try {
    await eventLog.append(leased, [expired], async on => {
      if (!(await approvals.expire(on, eventId))) throw new AlreadyLogged()
    })
  } catch (error) {
    if (!(error instanceof AlreadyLogged)) throw error
  }
  return decisionOf(answer)
}

/** Another reader of the same decision has logged the expiry. */
class AlreadyLogged extends Error {}

const unanswered = {
  expired:
    'approval expired without an answer; this is not a denial, so the call may be requested again if it is still needed',
  cancelled: 'approval was cancelled',
} as const

function decisionOf({ state, message, edited_input: input }: ApprovalAnswer): Decision {
  if (state === 'allowed') return { result: 'allow', message: undefined, ...(input !== null && { input }) }
  if (state === 'expired' || state === 'cancelled') return { result: 'deny', message: unanswered[state] }
  return { result: 'deny', message: message ?? undefined }
}
