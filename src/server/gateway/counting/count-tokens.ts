import type { Attempt, Outcome, Refusal, Sink } from '../call.ts'
import { parsedObject } from '../request.ts'
import { estimateInputTokens } from './estimate.ts'
import { noTokens } from './token-counts.ts'

/** True when an upstream's refusal only says that it has no route for counting. */
export function lacksCounting({ status, body }: Refusal, upstreamModel: string): boolean {
  // Bedrock has the route for all its models, and the words for those that it cannot count for.
  if (status === 400) return body.includes("doesn't support counting tokens")
  if (status !== 404 && status !== 405 && status !== 501) return false
  // A 404 that names the model is about the model: a guess would hide that from the caller.
  return !body.includes(upstreamModel)
}

/** Answers a count by our own guess, and says so. */
export function answerEstimate({ call, ownHeaders, startedMs }: Attempt, sink: Sink): Outcome {
  const body = Buffer.from(JSON.stringify({ input_tokens: estimateInputTokens(parsedObject(call.body)) }))
  sink.head(200, {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'request-id': call.requestId,
    'x-switchyard-estimated': 'input_tokens',
    ...ownHeaders,
  })
  sink.end(body)
  return {
    outcome: 'completed',
    status: 200,
    stopReason: undefined,
    usage: noTokens,
    firstContentMs: performance.now() - startedMs,
  }
}
