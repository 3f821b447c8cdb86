import { AppError } from '../../platform/errors.ts'
import { answerEstimate, lacksCounting } from '../tokens/count-tokens.ts'
import { noTokens } from '../tokens/token-counts.ts'
import type { Attempt, Outcome, Refusal, Sink } from './call.ts'

/** Of a call whose sink got nothing. */
export const nothingSent: Outcome = {
  outcome: 'failed',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** An upstream's own refusal goes to the client as it came, unless we can count ourselves. */
export function passOn(refusal: Refusal, attempt: Attempt, sink: Sink): Outcome {
  // A count in Google's format is guessed by its own lane, where it can be.
  const { kind } = attempt.call
  const isOurs = kind === 'count_tokens' || kind === 'responses_count'
  if (isOurs && lacksCounting(refusal, attempt.target.upstreamModel)) return answerEstimate(attempt, sink)
  const { status, headers, body, degraded, reason } = refusal
  sink.head(status, { ...headers, 'content-length': String(body.length), 'x-switchyard-error-source': 'upstream' })
  sink.end(body)
  return { ...nothingSent, status, ...(degraded && { degraded }), ...(reason && { reason }) }
}

/** The same refusal with the headers that say whose it is. Anything else thrown is a bug and stays as it is. */
export function asOurs(error: unknown, ownHeaders: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError) || 'x-switchyard-error-source' in error.headers) return error
  return error.with({ ...ownHeaders, 'x-switchyard-error-source': 'gateway' })
}
