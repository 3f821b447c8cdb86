import type { ManagedStatus } from '../../contract/managed-sessions.ts'
import { invalid } from '../platform/errors.ts'

/** Our sessions are never `rescheduling`. */
const never: ManagedStatus = 'rescheduling'

const validStatuses: readonly string[] = ['rescheduling', 'running', 'idle', 'terminated'] satisfies ManagedStatus[]

/**
 * Parses `statuses=a,b`, `statuses=a&statuses=b` and `statuses[]=a`. Returns the statuses that our sessions can have.
 */
export function statusesOf(value: unknown): ManagedStatus[] | undefined {
  if (value === undefined) return undefined
  const words = (Array.isArray(value) ? value : [value]).flatMap(item => String(item).split(','))
  for (const word of words) {
    if (!validStatuses.includes(word)) throw invalid(`statuses must be one of ${validStatuses.join(', ')}`)
  }
  return (words as ManagedStatus[]).filter(status => status !== never)
}

/** Returns which sessions a list includes: `terminated` selects the archived ones. */
export function archivedIn(
  statuses: readonly ManagedStatus[] | undefined,
  isRequested: boolean,
): 'without' | 'with' | 'only' {
  if (!statuses?.includes('terminated')) return isRequested && !statuses ? 'with' : 'without'
  return statuses.length === 1 ? 'only' : 'with'
}
