import type { Grade, Grader } from '../../../contract/graders.ts'
import type { Caller } from '../../http/caller.ts'

/** What is graded. */
export interface Graded {
  readonly experimentId: string
  readonly caseId: string
  readonly sessionId: string
  readonly prompts: readonly string[]
  /** The last answer. */
  readonly answer: string
  /** Who pays for judges, and owns the sessions. */
  readonly payer: () => Promise<JudgePayer>
  readonly signal: AbortSignal
}

export interface JudgePayer {
  readonly caller: Caller
  readonly ownerId: string
}

/** Result of a grader, without its name. */
export type Verdict = Pick<Grade, 'passed' | 'score' | 'reason'>

/** A grader came to no result: the message is for the owner of the case. */
export class GraderError extends Error {
  override readonly name = 'GraderError'
}

export const passed: Verdict = { passed: true, score: 1, reason: '' }

export const failed = (reason: string): Verdict => ({ passed: false, score: 0, reason })

/** Returns what a grader is called in results. */
export const labelOf = ({ name, type }: Grader): string => name ?? type
