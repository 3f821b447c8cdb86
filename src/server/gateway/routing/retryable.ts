import { AppError } from '../../platform/errors.ts'
import { OutboundBlocked } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'
import type { Outcome, UpstreamError } from '../core/call.ts'

/** Failure of an attempt while the sink was untouched. */
export type Failure = UpstreamError | AppError

/** True for a failure: the sink is untouched, so another deployment may serve the call. */
export const isFailure = (ending: Outcome | Failure): ending is Failure =>
  ending instanceof AppError || ending.outcome === 'refused'

/**
 * What may be tried after a failure. `again`: any deployment, the same one after a wait. `elsewhere`: only another one,
 * since the same one would fail again. `final`: no retry, since the call itself is at fault.
 */
type Verdict = 'again' | 'elsewhere' | 'final'

/** Statuses of Cloudflare, which many providers use: it did not reach the provider, or got no answer in time. */
const unreachableStatuses = [520, 521, 522, 523, 524, 525, 526, 530]
const transientStatuses: ReadonlySet<number> = new Set([
  ...[408, 409, 429, 500, 502, 503, 504, 529],
  ...unreachableStatuses,
])

/** Returns the retries that a failure allows, by its status or code. Source: Gateway, section 3. */
export function verdictOf(failure: Failure): Verdict {
  if (failure instanceof AppError) return verdictOfError(failure)
  const { status, reason } = failure
  if (reason !== undefined) return 'final'
  // The credential is rejected: another deployment has another one.
  if (status === 401 || status === 403) return 'elsewhere'
  return transientStatuses.has(status) ? 'again' : 'final'
}

function verdictOfError({ code, cause }: AppError): Verdict {
  switch (code) {
    case 'upstream_unreachable':
      return cause instanceof OutboundBlocked ? 'elsewhere' : 'again'
    case 'upstream_timeout':
      // Silence before the first byte may be transient. The total timeout is long, so it is not spent twice on one
      // deployment.
      return cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError
        ? 'again'
        : 'elsewhere'
    case 'rate_limited':
    case 'unavailable':
    case 'overloaded':
      return 'again'
    // The credential could not be created.
    case 'unauthorized':
    case 'forbidden':
      return 'elsewhere'
    default:
      return 'final'
  }
}

/** True when a deployment fails until an operator acts: its credential or its address is rejected. */
export const isBroken = (failure: Failure): boolean =>
  verdictOf(failure) === 'elsewhere' && !(failure instanceof AppError && failure.code === 'upstream_timeout')

/** Returns the class of a failure, such as `http_429` or `upstream_timeout`. Contains no text of the upstream. */
export const errorClassOf = (failure: Failure): string =>
  failure instanceof AppError ? failure.code : `http_${failure.status}`

const maxMs = 60_000

/**
 * Returns the wait that an upstream requests, in milliseconds, at most 60,000; undefined without a valid header.
 * `retry-after-ms` is the finer form that some upstreams send as well; a date is compared with `nowMs`.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const fine = headers['retry-after-ms']
  const plain = headers['retry-after']
  const ms = numberOf(fine) ?? inMilliseconds(numberOf(plain)) ?? untilDate(plain, nowMs)
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), maxMs)
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined

const inMilliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000

/** HTTP dates have letters; without that test, `Date.parse` would accept a bare year. */
function untilDate(text: string | undefined, nowMs: number): number | undefined {
  const at = text !== undefined && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at - nowMs
}

const baseMs = 500
const capMs = 8_000

/** Returns the wait before a retry, with full jitter; `waits` is the number of waits before it. */
export const backoffMs = (waits: number, random: () => number): number =>
  random() * Math.min(capMs, baseMs * 2 ** waits)
