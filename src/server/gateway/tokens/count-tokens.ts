import type { Attempt, Call, Outcome, Sink, UpstreamError } from '../core/call.ts'
import { parsedObject } from '../core/request-checks.ts'
import { estimatedInput } from '../endpoints/answer.ts'
import { isEndpoint } from '../endpoints/table.ts'
import { estimateForeignInputTokens, estimateInputTokens } from './estimate.ts'
import { noTokens } from './token-counts.ts'

/** Reports whether an upstream error only means that the upstream cannot count tokens. */
export function lacksCounting({ status, body }: UpstreamError, upstreamModel: string): boolean {
  // Bedrock has the route for all models and answers 400 with this text for models that it cannot count for.
  if (status === 400) return body.includes("doesn't support counting tokens")
  if (status !== 404 && status !== 405 && status !== 501) return false
  // A 404 that names the model means an unknown model, which an estimate would hide from the caller.
  return !body.includes(upstreamModel)
}

/** Answers a count in Anthropic's or OpenAI's format with the gateway's own estimate. */
export const answerEstimate = (attempt: Attempt, sink: Sink): Outcome =>
  answerCount(attempt, sink, {
    ...(attempt.call.kind === 'responses_count' && { object: 'response.input_tokens' }),
    input_tokens: estimateInputOf(attempt.call),
  })

/** Answers with the estimate in `count` and marks it as estimated in a header. */
export function answerCount({ call, ownHeaders, startedMs }: Attempt, sink: Sink, count: object): Outcome {
  const body = Buffer.from(JSON.stringify(count))
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

/** Estimates the input tokens of a request body in the format of `kind`; never 0. */
export function estimateInputOf(call: Pick<Call, 'kind' | 'body' | 'headers'>): number {
  const { kind } = call
  if (isEndpoint(kind)) return Math.max(1, estimatedInput({ ...call, kind }))
  const request = parsedObject(call.body)
  switch (kind) {
    case 'messages':
    case 'count_tokens':
      return estimateInputTokens(request)
    case 'chat':
    case 'responses':
    case 'responses_count':
    case 'responses_compact':
    case 'embeddings': {
      const { messages, input, instructions, tools } = request
      return estimateForeignInputTokens({ system: instructions, messages: messages ?? input, tools })
    }
    case 'converse':
    case 'invoke': {
      const { system, messages, prompt, inputText, toolConfig, tools } = request
      return estimateForeignInputTokens({
        system,
        messages: messages ?? prompt ?? inputText,
        tools: tools ?? toolConfig,
      })
    }
    case 'gemini_embed':
    case 'gemini_embed_batch':
      return estimateForeignInputTokens({ messages: request['requests'] ?? request['content'] })
    case 'gemini':
    case 'gemini_count': {
      const { contents, tools } = request
      const system = request['systemInstruction'] ?? request['system_instruction']
      return estimateForeignInputTokens({ system, messages: contents, tools })
    }
  }
}
