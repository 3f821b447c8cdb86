import type { NewEvent } from '../../contract/events.ts'
import { namedList } from '../platform/named-list.ts'

const maxNamed = 20
const maxNameLength = 64

/** Returns the warning that lists the fields that the session's runtime ignores. */
export function ignoredWarning(runtime: string, ignored: readonly string[]): NewEvent {
  const fields = ignored.slice(0, maxNamed).map(name => [...name].slice(0, maxNameLength).join(''))
  const message = `runtime ${runtime} ignores ${namedList(fields, maxNamed, ignored.length)}`
  return { type: 'session.warning', warning: { type: 'ignored_fields', message, fields } }
}
