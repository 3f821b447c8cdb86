import { AppError } from '../../platform/errors.ts'
import { answerEstimate, lacksCounting } from '../tokens/count-tokens.ts'
import { noTokens } from '../tokens/token-counts.ts'
import type { Attempt, Outcome, Sink, UpstreamError } from './call.ts'

/** Outcome of a call with the sink untouched. */
export const unsentOutcome: Outcome = {
  outcome: 'failed',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** Sends an upstream's error to the client unchanged; an estimate for an unsupported token count. */
export function relayUpstreamError(error: UpstreamError, attempt: Attempt, sink: Sink): Outcome {
  // Counts in Google's format are estimated by their adapter, where possible.
  const { kind } = attempt.call
  const isEstimable = kind === 'count_tokens' || kind === 'responses_count'
  if (isEstimable && lacksCounting(error, attempt.target.upstreamModel)) return answerEstimate(attempt, sink)
  const { status, headers, body, degraded, reason } = error
  sink.head(status, { ...headers, 'content-length': String(body.length), 'x-switchyard-error-source': 'upstream' })
  sink.end(body)
  return { ...unsentOutcome, status, ...(degraded && { degraded }), ...(reason && { reason }) }
}

/** Returns an AppError with the headers of the gateway's own errors; any other error (a bug) unchanged. */
export function withGatewayHeaders(error: unknown, ownHeaders: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError) || 'x-switchyard-error-source' in error.headers) return error
  return error.with({ ...ownHeaders, 'x-switchyard-error-source': 'gateway' })
}
