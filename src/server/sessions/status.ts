import type { SessionStatus } from '../../contract/session-status.ts'

export interface SessionFacts {
  /** A runner has an unexpired lease and one of the prompts runs. */
  readonly isRunning: boolean
  /** A tool call of the running prompt waits for approval, or for the result of a client. */
  readonly awaitsAnswer: boolean
  /** Unfinished prompts, including those that wait for a budget. */
  readonly waitingPrompts: number
  /** How the last run ended; null before the first, and after a paused one. */
  readonly lastOutcome: 'completed' | 'failed' | 'cancelled' | null
}

/** Returns the public status of a session. The interface defines the words; the rule is ours (gaps.md, section 5). */
export function statusOf({ isRunning, awaitsAnswer, waitingPrompts, lastOutcome }: SessionFacts): SessionStatus {
  if (awaitsAnswer) return 'idle'
  if (isRunning) return 'running'
  if (waitingPrompts > 0) return 'pending'
  return lastOutcome === 'failed' ? 'error' : 'idle'
}
