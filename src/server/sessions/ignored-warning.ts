import type { NewEvent } from '../../contract/events.ts'

const maxNamed = 20
const maxNameLength = 64

/** Returns the warning that lists the fields that the session's runtime ignores. */
export function ignoredWarning(runtime: string, ignored: readonly string[]): NewEvent {
  const named = ignored.slice(0, maxNamed).map(name => [...name].slice(0, maxNameLength).join(''))
  const rest = ignored.length - named.length
  const list = [...named, ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
  return {
    type: 'session.warning',
    warning: { type: 'ignored_fields', message: `runtime ${runtime} ignores ${list}`, fields: named },
  }
}
