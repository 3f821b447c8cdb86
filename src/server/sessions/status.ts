import type { SessionStatus } from '../../contract/sessions.ts'

export interface SessionFacts {
  /** A runner holds an unexpired lease and has a prompt in work. */
  readonly held: boolean
  /** Prompts that are not finished and that no runner works on. */
  readonly waitingPrompts: number
  /** How the last finished run ended; null before the first. */
  readonly lastOutcome: 'completed' | 'failed' | 'cancelled' | null
}

/** The public status of a session. Our choice: the interface gives the words, gaps.md section 5 the rule. */
export function statusOf({ held, waitingPrompts, lastOutcome }: SessionFacts): SessionStatus {
  if (held) return 'running'
  if (waitingPrompts > 0) return 'pending'
  return lastOutcome === 'failed' ? 'error' : 'idle'
}
