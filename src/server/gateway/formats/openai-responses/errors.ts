import type { ErrorCode } from '../../../../contract/errors.ts'
import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

/** An upstream's refusal in our terms: the code follows the status, the message is the upstream's own. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const error = errorOf(body)
  const message = messageOf(error) || `the upstream answered with status ${status}`
  const reason = status < 429 ? reasonOf(error, message) : undefined
  return { code: codeOfUpstreamStatus(status), message, ...(reason && { reason }) }
}

/** A failure told inside a stream or inside a whole answer; `body` is the event or the response. */
export function failureOf(body: unknown): { readonly code: ErrorCode; readonly message: string } {
  const error = errorOf(body)
  return { code: codeOfError(error), message: messageOf(error) || 'the upstream failed without saying why' }
}

const errorCodes: readonly (readonly [RegExp, ErrorCode])[] = [
  [/rate_limit|insufficient_quota|too_many_requests/, 'rate_limited'],
  [/overload|slow_down|unavailable/, 'overloaded'],
  [/timeout/, 'upstream_timeout'],
  [/server_error|internal/, 'upstream_unreachable'],
  [/^invalid_|context_length|policy|content_filter|image|string_above|_residency_/, 'invalid_request'],
]

/** The error's code says more than its type, so it counts first. */
function codeOfError({ code, type }: Json): ErrorCode {
  for (const word of [textOf(code), textOf(type)]) {
    const row = errorCodes.find(([pattern]) => pattern.test(word))
    if (row) return row[1]
  }
  return 'upstream_unreachable'
}

/** The object that describes the error, wherever the body holds it; text becomes its message. */
function errorOf(body: unknown): Json {
  if (!isRecord(body)) return { message: textOf(body) }
  const { error, response, detail } = body
  if (isRecord(error)) return error
  if (isRecord(response)) return errorOf(response)
  if (typeof error === 'string') return { ...body, message: error }
  return typeof body['message'] === 'string' ? body : { message: typeof detail === 'string' ? detail : '' }
}

const maxMessageLength = 2_000

/** Plain words: an error that came as JSON inside of a string is opened, a page of HTML is none. */
function messageOf(error: Json): string {
  const metadata = isRecord(error['metadata']) ? error['metadata'] : {}
  const text = (textOf(metadata['raw']) || textOf(error['message'])).trim()
  if (text.startsWith('<')) return ''
  const inner = /^[{[]/.test(text) ? innerMessage(text) : undefined
  return (inner ?? text).replaceAll(/\bsk-[\w*.-]{4,}/g, '[key]').slice(0, maxMessageLength)
}

function innerMessage(text: string): string | undefined {
  try {
    const inner: unknown = JSON.parse(text)
    return messageOf(errorOf(Array.isArray(inner) ? inner[0] : inner)) || undefined
  } catch {
    // Not JSON after all: the text is the message.
    return undefined
  }
}

const contextWords =
  /context (length|window)|maximum context|input tokens exceed|too many (input )?tokens|prompt is too long|exceeds the (model|context)/i
const policyWords =
  /content_filter|content policy|usage polic|policy_violation|policyviolation|_policy$|invalid_prompt/i

function reasonOf({ code, type, innererror }: Json, message: string): UpstreamProblem['reason'] {
  const inner = isRecord(innererror) ? textOf(innererror['code']) : ''
  const words = [textOf(code), textOf(type), inner]
  if (words.some(word => word.startsWith('context_length')) || contextWords.test(message)) return 'context_window'
  return [...words, message].some(word => policyWords.test(word)) ? 'policy' : undefined
}
