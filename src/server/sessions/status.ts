import type { SessionStatus } from '../../contract/sessions.ts'

export interface SessionFacts {
  /** A runner holds an unexpired lease and has a prompt in work. */
  readonly held: boolean
  /** A tool call of the prompt in work waits for a person. */
  readonly asks: boolean
  /** Prompts that are not finished and that no runner works on, those that wait for a budget included. */
  readonly waitingPrompts: number
  /** How the last run ended; null before the first, and after one that paused. */
  readonly lastOutcome: 'completed' | 'failed' | 'cancelled' | null
}

/** The public status of a session. Our choice: the interface gives the words, gaps.md section 5 the rule. */
export function statusOf({ held, asks, waitingPrompts, lastOutcome }: SessionFacts): SessionStatus {
  if (asks) return 'idle'
  if (held) return 'running'
  if (waitingPrompts > 0) return 'pending'
  return lastOutcome === 'failed' ? 'error' : 'idle'
}
