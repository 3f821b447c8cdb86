import { recordOf } from '../../../platform/json.ts'
import type { Codec, UpstreamProblem } from '../../core/codec.ts'
import { tokenCount } from '../../tokens/token-counts.ts'
import { bedrockMessage, isTooLong } from '../../upstream/bedrock.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'
import { answerEvents, ConverseDecoder } from './read-answer.ts'
import { converseRequest, countRequest } from './write-request.ts'

/** Codec of the Converse API of Amazon Bedrock, for all of its models. */
export const bedrockConverse = {
  framing: 'aws-event-stream',
  request: converseRequest,
  decoder: context => new ConverseDecoder(context),
  answer: answerEvents,
  problem: problemOf,
  counting: {
    request: countRequest,
    answer: body => tokenCount(recordOf(body)['inputTokens']),
  },
} satisfies Codec

/** Reads an upstream error of Bedrock. */
function problemOf(status: number, body: unknown): UpstreamProblem {
  const message = bedrockMessage(body) ?? `Amazon Bedrock returned status ${status}`
  const code = status === 424 ? 'upstream_unreachable' : codeOfUpstreamStatus(status)
  if (code !== 'invalid_request' && code !== 'payload_too_large') return { code, message }
  if (isTooLong(message)) return { code, message, reason: 'context_window' }
  return policyWords.test(message) ? { code, message, reason: 'policy' } : { code, message }
}

const policyWords = /content (filter|polic)|guardrail|usage polic|acceptable use/i
