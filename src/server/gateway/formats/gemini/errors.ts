import type { ErrorCode } from '../../../../contract/errors.ts'
import { googleError } from '../../../../contract/gemini.ts'
import { isRecord, type Json, jsonOr, nonEmptyText, recordsOf } from '../../../platform/json.ts'
import type { ProblemWriter } from '../../core/client-format.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

/** Google's own names of errors. They say more than the HTTP status, which some of them share. */
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

const tooLong =
  /exceeds the maximum number of (input )?tokens|input token count .*exceeds|exceeds .*context (window|length)/i
const refused = /prohibited[ _]content|responsible ai|safety (filter|setting|polic)|blocked (due to|by|for) /i
const maxMessageLength = 2_000

/** A refusal of Google's, `{error: {...}}` or a list with one of them, in our terms. */
export function geminiProblem(status: number, body: unknown): UpstreamProblem {
  const error = errorOf(body)
  const message = messageOf(error, body) ?? `the upstream answered with status ${status}`
  const code = hasBadKey(error) ? 'unauthorized' : codeOf(status, error)
  const reason = code === 'invalid_request' ? reasonOf(message) : undefined
  return { code, message: message.slice(0, maxMessageLength), ...(reason !== undefined && { reason }) }
}

/** The problem that a chunk of a stream tells of; undefined for a chunk without one. */
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

/** Google answers a bad key with 400. */
const hasBadKey = (error: Json | undefined): boolean =>
  recordsOf(error?.['details']).some(({ reason }) => reason === 'API_KEY_INVALID')

function reasonOf(message: string): UpstreamProblem['reason'] {
  if (tooLong.test(message)) return 'context_window'
  return refused.test(message) ? 'policy' : undefined
}

function messageOf(error: Json | undefined, body: unknown): string | undefined {
  if (error) return plain(nonEmptyText(error['message']) ?? nonEmptyText(error['status']))
  return typeof body === 'string' && !/^\s*</.test(body) ? plain(body) : undefined
}

/** Proxies put Google's whole body into the message of their own. */
function plain(message: string | undefined): string | undefined {
  let text = message?.trim()
  for (let depth = 0; depth < 3 && text !== undefined && /^[[{]/.test(text); depth++) {
    const inner = errorOf(jsonOr(text, undefined))
    if (!inner) return undefined
    text = nonEmptyText(inner['message'])?.trim()
  }
  return text === '' ? undefined : text
}

/** A failure of a model call as Google's clients read it. */
export const geminiErrorBody: ProblemWriter = (code, message, reason) =>
  googleError(reason === undefined ? code : 'invalid_request', message)
