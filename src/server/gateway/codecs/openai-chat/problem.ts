import type { ErrorCode } from '../../../../contract/errors.ts'
import { isRecord, type Json, recordOf } from '../../../platform/json.ts'
import type { UpstreamProblem } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { codeOfUpstreamStatus } from '../../upstream/code-of-status.ts'
import { type ProblemText, readProblem } from './problem-text.ts'

/** An answer with an error status in our terms. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const said = readProblem(body)
  const reason = reasonOf(status, said)
  const message = said.message || `the upstream answered with status ${status}`
  return { code: codeOfUpstreamStatus(status), message, ...(reason !== undefined && { reason }) }
}

const contextCode = /context_length_exceeded|exceed_context_size|context_window/i
const contextWords = [
  /context[ _-](length|window|size)/i,
  /\b(prompt|input|request|messages?) (is|are) too long/i,
  /maximum (input|prompt) (length|tokens)/i,
  /too many (input |prompt )?tokens/i,
  /input token count .{0,40}exceeds/i,
  /reduce the length of the (input|messages|prompt)/i,
]
const policyCode = /content_?filter|content_policy|policy_violation|moderation|ResponsibleAI/i
const policyWords = /content (management )?policy|usage polic|content[ _]filter|safety system|flagged/i

/** Statuses that speak of credentials, money, routes or rates, whatever their words look like. */
const otherMatters = new Set([401, 402, 404, 429])

function reasonOf(status: number, { message, codes: found }: ProblemText): UpstreamProblem['reason'] {
  if (otherMatters.has(status)) return undefined
  if (found.some(code => contextCode.test(code)) || contextWords.some(words => words.test(message))) {
    return 'context_window'
  }
  return found.some(code => policyCode.test(code)) || policyWords.test(message) ? 'policy' : undefined
}

/** True for a chunk, or a whole answer with status 200, that is an error in truth. */
export function isProblem(body: Json): boolean {
  const { error } = body
  if (isRecord(error) || (typeof error === 'string' && error !== '')) return true
  if (body['object'] === 'error') return true
  return body['choices'] === undefined && (typeof body['message'] === 'string' || body['detail'] !== undefined)
}

const wordsOfCodes: readonly (readonly [RegExp, ErrorCode])[] = [
  [/rate_?limit|too_many_requests/i, 'rate_limited'],
  [/overloaded/i, 'overloaded'],
  [/timeout/i, 'upstream_timeout'],
  [/invalid_request|context_length|content_filter|policy/i, 'invalid_request'],
]

/** An error that came after a good status. */
export function problemInStream(body: unknown): ModelEvent {
  const said = readProblem(body)
  const message = said.message || 'the upstream broke the answer off with an error'
  return { type: 'error', code: codeInStream(body, said), message }
}

function codeInStream(body: unknown, { codes: found }: ProblemText): ErrorCode {
  const { error, code, status } = recordOf(body)
  const inner = recordOf(error)
  const numbers = [inner['code'], inner['status'], inner['http_code'], code, status]
  const stated = numbers.map(Number).find(number => Number.isInteger(number) && number >= 400 && number < 600)
  if (stated !== undefined) return codeOfUpstreamStatus(stated)
  const named = wordsOfCodes.find(([words]) => found.some(code => words.test(code)))
  return named?.[1] ?? 'upstream_unreachable'
}
