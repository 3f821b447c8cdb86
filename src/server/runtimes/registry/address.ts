import { invalid } from '../../platform/errors.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import { withoutTrailing } from '../../platform/trailing.ts'

/** The guard in its current state: the configuration file may have changed. */
export type Guard = Pick<Outbound, 'judge' | 'lists'>

/** Returns the canonical form of an allowed address, without a trailing slash. Throws `invalid` for `api_base`. */
export function checkedAddress(given: string, guard: Guard): string {
  const plain = () => {
    const { origin, pathname } = new URL(given)
    return `${origin}${withoutTrailing(pathname, '/')}`
  }
  // Both the input and its parsed form are checked: URL parsers must not disagree on the host.
  const problem = blockedReasonFor(given, guard) ?? blockedReasonFor(plain(), guard)
  if (problem !== undefined) throw invalid(`api_base is not allowed: ${problem}`)
  if (/[?#]/.test(given)) throw invalid('api_base must not have a query or fragment')
  return plain()
}
