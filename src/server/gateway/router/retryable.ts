import { AppError } from '../../platform/errors.ts'
import { OutboundRefused } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'
import type { Outcome, Refusal } from '../call.ts'

/** How an attempt failed while the sink was untouched. */
export type Failure = Refusal | AppError

/** True while the sink is untouched, so that the call can go on elsewhere. */
export const isFailure = (ending: Outcome | Failure): ending is Failure =>
  ending instanceof AppError || ending.outcome === 'refused'

/**
 * What may follow a failure. `again`: any deployment, this one too after a wait. `elsewhere`: only another one, since
 * this one would fail the same way. `final`: nothing, since the call itself is at fault.
 */
export type Verdict = 'again' | 'elsewhere' | 'final'

const passing = new Set([408, 409, 429, 500, 502, 503, 504, 529])

/** Judges a failure by its status or kind. Source: Gateway, section 3. */
export function verdictOf(failure: Failure): Verdict {
  if (failure instanceof AppError) return verdictOfError(failure)
  const { status, reason } = failure
  if (reason !== undefined) return 'final'
  // Our credential is bad: another deployment has another one.
  if (status === 401 || status === 403) return 'elsewhere'
  return passing.has(status) ? 'again' : 'final'
}

function verdictOfError({ code, cause }: AppError): Verdict {
  switch (code) {
    case 'upstream_unreachable':
      return cause instanceof OutboundRefused ? 'elsewhere' : 'again'
    case 'upstream_timeout':
      // Silence before the first byte may pass. The total time is long: once used up, the same way is not gone twice.
      return cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError
        ? 'again'
        : 'elsewhere'
    case 'rate_limited':
    case 'unavailable':
    case 'overloaded':
      return 'again'
    // The credential could not be made.
    case 'unauthorized':
    case 'forbidden':
      return 'elsewhere'
    default:
      return 'final'
  }
}

/** True when a deployment can serve nobody until an operator acts: its credential or its address is refused. */
export const isBroken = (failure: Failure): boolean =>
  verdictOf(failure) === 'elsewhere' && !(failure instanceof AppError && failure.code === 'upstream_timeout')

/** A word for a failure, free of anything that an upstream said: `http_429`, `upstream_timeout`. */
export const errorClassOf = (failure: Failure): string =>
  failure instanceof AppError ? failure.code : `http_${failure.status}`
