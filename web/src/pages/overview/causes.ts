import type { FailedSession } from '../../../../src/contract/console.ts'
import { helpForSessionError } from '../../../../src/contract/error-help.ts'

/** Failed sessions with one cause. */
export interface FailureCause {
  readonly type: string
  readonly nextStep: string
  readonly sessions: readonly FailedSession[]
}

/** Groups failures by cause, the most frequent first. */
export function causesOf(failures: readonly FailedSession[]): readonly FailureCause[] {
  const byType = Map.groupBy(failures, ({ error_type }) => error_type ?? 'unknown_error')
  return [...byType]
    .map(([type, sessions]) => ({ type, sessions, nextStep: helpForSessionError(type).nextStep }))
    .sort((a, b) => b.sessions.length - a.sessions.length)
}
