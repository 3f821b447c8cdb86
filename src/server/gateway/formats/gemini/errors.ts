import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { googleError } from '../../../../contract/gemini.ts'
import { isRecord, type Json, jsonOr, nonEmptyText, recordsOf } from '../../../platform/json.ts'
import type { ProblemWriter } from '../../core/client-format.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

/** Codes by Google's error status, which is more specific than the HTTP status. */
const codesOfGoogle: Readonly<Record<string, ErrorCode>> = {
  INVALID_ARGUMENT: 'invalid_request',
  FAILED_PRECONDITION: 'invalid_request',
  OUT_OF_RANGE: 'invalid_request',
  UNAUTHENTICATED: 'unauthorized',
  PERMISSION_DENIED: 'forbidden',
  NOT_FOUND: 'not_found',
  ALREADY_EXISTS: 'conflict',
  ABORTED: 'conflict',
  RESOURCE_EXHAUSTED: 'rate_limited',
  CANCELLED: 'upstream_unreachable',
  DEADLINE_EXCEEDED: 'upstream_timeout',
  UNAVAILABLE: 'overloaded',
  INTERNAL: 'internal',
  UNKNOWN: 'internal',
  DATA_LOSS: 'internal',
}

const contextWords =
  /exceeds the maximum number of (input )?tokens|input token count .*exceeds|exceeds .*context (window|length)/i
const policyWords = /prohibited[ _]content|responsible ai|safety (filter|setting|polic)|blocked (due to|by|for) /i
const maxMessageLength = 2_000

/** Reads an upstream error of Google: `{error: {...}}`, or a list that contains one. */
export function geminiProblem(status: number, body: unknown): UpstreamProblem {
  const error = errorOf(body)
  const message = messageOf(error, body) ?? `upstream returned status ${status}`
  const code = hasBadKey(error) ? 'unauthorized' : codeOf(status, error)
  const reason = code === 'invalid_request' ? reasonOf(message) : undefined
  return { code, message: message.slice(0, maxMessageLength), ...(reason !== undefined && { reason }) }
}

/** Returns the error in a chunk of a stream; undefined for a chunk without an error. */
export function problemInStream(chunk: unknown): UpstreamProblem | undefined {
  const error = errorOf(chunk)
  if (!error) return undefined
  const { code } = error
  return geminiProblem(typeof code === 'number' && code >= 400 && code < 600 ? code : 500, chunk)
}

function errorOf(body: unknown): Json | undefined {
  const holder = Array.isArray(body) ? recordsOf(body).find(entry => 'error' in entry) : body
  if (!isRecord(holder)) return undefined
  const { error } = holder
  return typeof error === 'string' ? { message: error } : isRecord(error) ? error : undefined
}

function codeOf(status: number, error: Json | undefined): ErrorCode {
  const named = codesOfGoogle[nonEmptyText(error?.['status']) ?? '']
  return named ?? codeOfUpstreamStatus(status)
}

/** Returns true for an invalid API key. Google reports it with status 400. */
const hasBadKey = (error: Json | undefined): boolean =>
  recordsOf(error?.['details']).some(({ reason }) => reason === 'API_KEY_INVALID')

function reasonOf(message: string): UpstreamProblem['reason'] {
  if (contextWords.test(message)) return 'context_window'
  return policyWords.test(message) ? 'policy' : undefined
}

function messageOf(error: Json | undefined, body: unknown): string | undefined {
  if (error) return unwrapped(nonEmptyText(error['message']) ?? nonEmptyText(error['status']))
  return typeof body === 'string' && !/^\s*</.test(body) ? unwrapped(body) : undefined
}

/** Unwraps the message: proxies put Google's whole error body into their own message. */
function unwrapped(message: string | undefined): string | undefined {
  let text = message?.trim()
  for (let depth = 0; depth < 3 && text !== undefined && /^[[{]/.test(text); depth++) {
    const inner = errorOf(jsonOr(text, undefined))
    if (!inner) return undefined
    text = nonEmptyText(inner['message'])?.trim()
  }
  return text === '' ? undefined : text
}

/** Returns the error body of a failed model call for Google's clients. */
export const geminiErrorBody: ProblemWriter = (code, message, reason) =>
  googleError(reason === undefined ? code : 'invalid_request', message)
