import type { UpstreamProblem } from '../../translated/codec.ts'
import { bedrockMessage, isTooLong } from '../../upstream/bedrock-errors.ts'
import { codeOfUpstreamStatus } from '../../upstream/code-of-status.ts'

/** Bedrock's refusal in our terms. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const message = bedrockMessage(body) ?? `Amazon Bedrock answered with status ${status}`
  const code = status === 424 ? 'upstream_unreachable' : codeOfUpstreamStatus(status)
  if (code !== 'invalid_request' && code !== 'payload_too_large') return { code, message }
  if (isTooLong(message)) return { code, message, reason: 'context_window' }
  return policyWords.test(message) ? { code, message, reason: 'policy' } : { code, message }
}

const policyWords = /content (filter|polic)|guardrail|usage polic|acceptable use/i
