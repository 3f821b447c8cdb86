import type { ManagedStatus } from '../../contract/managed-sessions.ts'
import { invalid } from '../platform/errors.ts'

/** No session of ours is ever `rescheduling`. */
const never: ManagedStatus = 'rescheduling'

const known: readonly string[] = ['rescheduling', 'running', 'idle', 'terminated'] satisfies ManagedStatus[]

/** Those that sessions of ours can have. `statuses=a,b`, `statuses=a&statuses=b` and `statuses[]=a` all mean the same. */
export function statusesOf(value: unknown): ManagedStatus[] | undefined {
  if (value === undefined) return undefined
  const words = (Array.isArray(value) ? value : [value]).flatMap(item => String(item).split(','))
  for (const word of words) {
    if (!known.includes(word)) throw invalid(`statuses must be among ${known.join(', ')}`)
  }
  return (words as ManagedStatus[]).filter(status => status !== never)
}

/** Which sessions a list looks at: those that have ended are the archived ones. */
export function archivedIn(
  statuses: readonly ManagedStatus[] | undefined,
  isAsked: boolean,
): 'without' | 'with' | 'only' {
  if (!statuses?.includes('terminated')) return isAsked && !statuses ? 'with' : 'without'
  return statuses.length === 1 ? 'only' : 'with'
}
