import type { NewEvent } from '../../../contract/events.ts'
import type { LeftOut } from '../../workspaces/limits.ts'

const maxNamed = 20

/** Returns a warning that lists up to 20 files left out of a checkpoint, and the number of the others. */
export function leftOutWarning(leftOut: readonly LeftOut[], what: string): NewEvent {
  const named = leftOut.slice(0, maxNamed)
  const more = leftOut.length - named.length
  const list = named.map(({ path, reason }) => `${path.slice(0, 200)} (${reason})`).join(', ')
  const message = `${what}: ${list}${more > 0 ? `, and ${more} more` : ''}`
  return { type: 'session.warning', warning: { type: 'files_left_out', message, files: named, more } }
}
