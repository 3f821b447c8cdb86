import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

/** Reads an upstream error. The code depends on the status; the message is the upstream's. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const error = errorOf(body)
  const message = messageOf(error) || `upstream returned status ${status}`
  const reason = status < 429 ? reasonOf(error, message) : undefined
  return { code: codeOfUpstreamStatus(status), message, ...(reason && { reason }) }
}

/** Converts an error in a stream or in a whole answer. `body` is the event or the response. */
export function failureOf(body: unknown): { readonly code: ErrorCode; readonly message: string } {
  const error = errorOf(body)
  return { code: codeOfError(error), message: messageOf(error) || 'upstream reported an error without a message' }
}

const errorCodes: readonly (readonly [RegExp, ErrorCode])[] = [
  [/rate_limit|insufficient_quota|too_many_requests/, 'rate_limited'],
  [/overload|slow_down|unavailable/, 'overloaded'],
  [/timeout/, 'upstream_timeout'],
  [/server_error|internal/, 'upstream_unreachable'],
  [/^invalid_|context_length|policy|content_filter|image|string_above|_residency_/, 'invalid_request'],
]

/** Returns the code of an error. Its `code` is more specific than its `type`, so it takes precedence. */
function codeOfError({ code, type }: Json): ErrorCode {
  for (const word of [textOf(code), textOf(type)]) {
    const row = errorCodes.find(([pattern]) => pattern.test(word))
    if (row) return row[1]
  }
  return 'upstream_unreachable'
}

/** Returns the error object in a body. A text becomes its message. */
function errorOf(body: unknown): Json {
  if (!isRecord(body)) return { message: textOf(body) }
  const { error, response, detail } = body
  if (isRecord(error)) return error
  if (isRecord(response)) return errorOf(response)
  if (typeof error === 'string') return { ...body, message: error }
  return typeof body['message'] === 'string' ? body : { message: typeof detail === 'string' ? detail : '' }
}

const maxMessageLength = 2_000

/** Returns the message as plain text. JSON in it is parsed; an HTML page gives an empty string. */
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
