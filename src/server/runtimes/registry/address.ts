import { invalid } from '../../platform/errors.ts'
import { type Outbound, refusalFor } from '../../platform/outbound.ts'

/** Asks the guard as it is now: the configuration file may have changed. */
export type Guard = Pick<Outbound, 'judge' | 'lists'>

/** The one spelling of an address that may be called, without a slash at its end. Throws `invalid` that names `api_base`. */
export function checkedAddress(given: string, guard: Guard): string {
  const plain = () => {
    const { origin, pathname } = new URL(given)
    return `${origin}${pathname.replace(/\/+$/, '')}`
  }
  // The given text is judged as well as what was read in it: no two readers may disagree on the host.
  const refusal = refusalFor(given, guard) ?? refusalFor(plain(), guard)
  if (refusal !== undefined) throw invalid(`api_base is refused: ${refusal}`)
  if (/[?#]/.test(given)) throw invalid('api_base must hold no query or fragment')
  return plain()
}
