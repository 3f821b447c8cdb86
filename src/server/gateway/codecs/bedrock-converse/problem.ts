import type { ErrorCode } from '../../../../contract/errors.ts'
import type { UpstreamProblem } from '../../translated/codec.ts'
import { bedrockMessage, isTooLong } from '../../upstream/bedrock-errors.ts'

/** Bedrock's refusal in our terms. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const message = bedrockMessage(body) ?? `Amazon Bedrock answered with status ${status}`
  const code = codes[status] ?? (status >= 500 || status === 424 ? 'upstream_unreachable' : 'invalid_request')
  if (code !== 'invalid_request' && code !== 'payload_too_large') return { code, message }
  if (isTooLong(message)) return { code, message, reason: 'context_window' }
  return policyWords.test(message) ? { code, message, reason: 'policy' } : { code, message }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  408: 'upstream_timeout',
  413: 'payload_too_large',
  429: 'rate_limited',
  503: 'overloaded',
  504: 'upstream_timeout',
}

const policyWords = /content (filter|polic)|guardrail|usage polic|acceptable use/i
