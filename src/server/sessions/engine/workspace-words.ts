import type { NewEvent } from '../../../contract/events.ts'
import type { LeftOut } from '../../workspaces/limits.ts'

const mostNamed = 20

/** Names files that are not part of checkpoints: at most 20, and how many more there are. */
export function leftOutWarning(leftOut: readonly LeftOut[], what: string): NewEvent {
  const named = leftOut.slice(0, mostNamed)
  const more = leftOut.length - named.length
  const list = named.map(({ path, reason }) => `${path.slice(0, 200)} (${reason})`).join(', ')
  const message = `${what}: ${list}${more > 0 ? `, and ${more} more` : ''}`
  return { type: 'session.warning', warning: { type: 'files_left_out', message, files: named, more } }
}
