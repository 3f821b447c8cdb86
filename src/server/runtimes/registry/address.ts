import { invalid } from '../../platform/errors.ts'
import type { Outbound } from '../../platform/outbound.ts'

/** Asks the guard as it is now: the configuration file may have changed. */
export type Guard = Pick<Outbound, 'judge' | 'lists'>

/** Why a key and prompts may not go to `url`, as far as its text tells. Security: S20, S21, S24. */
export function refusalOf(url: string, guard: Guard): string | undefined {
  const refusal = guard.judge(url)
  if (refusal !== undefined) return refusal
  if (/^https:/i.test(url) || guard.lists(url)) return undefined
  const { hostname, port } = new URL(url)
  return `the address must start with https://, unless "${hostname}:${port || '80'}" is in outbound.allow`
}

/** The one spelling of an address that may be called, without a slash at its end. Throws `invalid` that names `api_base`. */
export function checkedAddress(given: string, guard: Guard): string {
  const plain = () => {
    const { origin, pathname } = new URL(given)
    return `${origin}${pathname.replace(/\/+$/, '')}`
  }
  // The given text is judged as well as what was read in it: no two readers may disagree on the host.
  const refusal = refusalOf(given, guard) ?? refusalOf(plain(), guard)
  if (refusal !== undefined) throw invalid(`api_base is refused: ${refusal}`)
  if (/[?#]/.test(given)) throw invalid('api_base must hold no query or fragment')
  return plain()
}
