import type { NewEvent } from '../../../contract/events.ts'
import { namedList } from '../../platform/named-list.ts'
import type { LeftOut } from '../../workspaces/limits.ts'

const maxNamed = 20

/** Returns a warning that lists up to 20 files left out of a checkpoint, and the number of the others. */
export function leftOutWarning(leftOut: readonly LeftOut[], what: string): NewEvent {
  const named = leftOut.slice(0, maxNamed)
  const reasons = named.map(({ path, reason }) => `${path.slice(0, 200)} (${reason})`)
  const list = namedList(reasons, maxNamed, leftOut.length)
  const warning = { message: `${what}: ${list}`, files: named, more: leftOut.length - named.length }
  return { type: 'session.warning', warning: { type: 'files_left_out', ...warning } }
}
