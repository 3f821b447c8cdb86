import { AppError } from '../../platform/errors.ts'
import { OutboundRefused } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'
import type { Outcome, Refusal } from '../core/call.ts'

/** How an attempt failed while the sink was untouched. */
export type Failure = Refusal | AppError

/** True while the sink is untouched, so that the call can go on elsewhere. */
export const isFailure = (ending: Outcome | Failure): ending is Failure =>
  ending instanceof AppError || ending.outcome === 'refused'

/**
 * What may follow a failure. `again`: any deployment, this one too after a wait. `elsewhere`: only another one, since
 * this one would fail the same way. `final`: nothing, since the call itself is at fault.
 */
type Verdict = 'again' | 'elsewhere' | 'final'

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

const longestMs = 60_000

/**
 * How long an upstream asks us to wait, in milliseconds, 60,000 at most; undefined when it does not say, or not in a way
 * that can be read. `retry-after-ms` is the finer form that some send besides; a date is compared with `nowMs`.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const fine = headers['retry-after-ms']
  const plain = headers['retry-after']
  const ms = numberOf(fine) ?? inMilliseconds(numberOf(plain)) ?? untilDate(plain, nowMs)
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), longestMs)
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined

const inMilliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000

/** Dates have letters; without that test the parser would take a bare year or worse. */
function untilDate(text: string | undefined, nowMs: number): number | undefined {
  const at = text !== undefined && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at - nowMs
}

const baseMs = 500
const capMs = 8_000

/** The wait before a deployment is tried again; `waits` counts those before it. Full jitter, so that callers spread. */
export const backoffMs = (waits: number, random: () => number): number =>
  random() * Math.min(capMs, baseMs * 2 ** waits)
