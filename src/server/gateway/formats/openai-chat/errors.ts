import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import type { StopReason, UpstreamEvent } from '../../core/answer-event.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

/** Reads a response with an error status. */
export function problemOf(status: number, body: unknown): UpstreamProblem {
  const read = readProblem(body)
  const reason = reasonOf(status, read)
  const message = read.message || `upstream returned status ${status}`
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

/** Statuses about credentials, credit, routes or rates. They never have a `reason`, whatever their message. */
const statusesWithoutReason: ReadonlySet<number> = new Set([401, 402, 404, 429])

function reasonOf(status: number, { message, codes: found }: ProblemText): UpstreamProblem['reason'] {
  if (statusesWithoutReason.has(status)) return undefined
  if (found.some(code => contextCode.test(code)) || contextWords.some(words => words.test(message))) {
    return 'context_window'
  }
  return found.some(code => policyCode.test(code)) || policyWords.test(message) ? 'policy' : undefined
}

/** Returns true for a chunk, or a whole answer with status 200, that contains an error. */
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

/** Converts an error received after status 200. */
export function problemInStream(body: unknown): UpstreamEvent {
  const read = readProblem(body)
  const message = read.message || 'upstream aborted the response with an error'
  return { type: 'error', code: codeInStream(body, read), message }
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

/** Text and codes of an error body. */
interface ProblemText {
  /** Plain text; empty if the body contains no message. */
  readonly message: string
  /** Codes and types, from all levels of the body. */
  readonly codes: readonly string[]
}

const noText: ProblemText = { message: '', codes: [] }
const maxLength = 1000
const maxDepth = 8

/** Reads an error body: OpenAI's format, text, an HTML page, or another provider's error nested in one of these. */
function readProblem(body: unknown, depth = maxDepth): ProblemText {
  if (depth === 0) return noText
  if (typeof body === 'string') return readText(body, depth)
  if (Array.isArray(body)) return readProblem(body[0], depth - 1)
  return isRecord(body) ? readObject(body, depth) : noText
}

function readObject(body: Json, depth: number): ProblemText {
  const codes = codesOf(body)
  const metadata = recordOf(body['metadata'])
  const parts = [body['error'], body['message'], body['detail'], metadata['raw'], body['errors']]
  const read = parts.map(part => (part === body['detail'] ? readDetail(part, depth) : readProblem(part, depth - 1)))
  const messages = read.map(({ message }) => message).filter(message => message !== '')
  return {
    // A router's own message, followed by that of the provider.
    message: [...new Set(messages)].join(': ').slice(0, maxLength),
    codes: [...codes, ...read.flatMap(part => part.codes)],
  }
}

/** Reads `detail`: a text, or a list of validation errors. */
function readDetail(detail: unknown, depth: number): ProblemText {
  if (!Array.isArray(detail)) return readProblem(detail, depth - 1)
  const found = detail.filter(isRecord).map(({ loc, msg }) => [listOf(loc).join('.'), textOf(msg)])
  const message = found.map(words => words.filter(word => word !== '').join(': ')).join('; ')
  return { message: plainText(message), codes: [] }
}

/** Reads a text. JSON in it is parsed as an error body. */
function readText(text: string, depth: number): ProblemText {
  const at = text.search(/[{[]/)
  const inner = at < 0 ? undefined : parsedJson(text.slice(at))
  // A text may contain brackets that are not JSON, such as a final [0].
  if (inner === undefined || (at > 0 && !isRecord(listOf(inner)[0] ?? inner)))
    return { message: plainText(text), codes: [] }
  const { message, codes } = readProblem(inner, depth - 1)
  return { message: message || plainText(text.slice(0, at)), codes }
}

function codesOf(body: Json): string[] {
  const inner = recordOf(body['innererror'])
  return [body['code'], body['type'], inner['code'], body['error_type']].filter(code => typeof code === 'string')
}

/** Returns plain text; of an HTML page only the title. */
function plainText(text: string): string {
  const isPage = /^\s*</.test(text)
  const words = isPage ? (/<title[^>]*>([^<]*)</i.exec(text.slice(0, 10_000))?.[1] ?? '') : text
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, maxLength)
}

/** Parses JSON; undefined for text that is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Text of the upstream that only resembles JSON.
    return undefined
  }
}

/** Stop reasons by `finish_reason`, including values of servers other than OpenAI. */
const reasons: Readonly<Record<string, StopReason>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  max_tokens: 'max_tokens',
  model_length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
  safety: 'refusal',
  sensitive: 'refusal',
}

/** Values of `finish_reason` that mean the answer is incomplete because of an error. */
const failedReasons: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
  'malformed_function_call',
])

/** True for the finish reason of a choice that is incomplete because the upstream failed. */
export const isFailedFinish = (reason: unknown): boolean =>
  typeof reason === 'string' && failedReasons.has(reason.toLowerCase())

interface Facts {
  readonly hasDeclined: boolean
  readonly hasCalls: boolean
}

/** Converts the finish reason of a choice to a stop, or to an error if the upstream failed. */
export function stopOf(choice: Json, { hasDeclined, hasCalls }: Facts): UpstreamEvent {
  const finish = textOf(choice['finish_reason']).toLowerCase()
  if (isFailedFinish(finish)) {
    const message = readProblem(choice['error']).message || `upstream aborted the response: ${finish}`
    return { type: 'error', code: 'upstream_unreachable', message }
  }
  if (hasDeclined) return { type: 'stop', reason: 'refusal' }
  const reason = (Object.hasOwn(reasons, finish) ? reasons[finish] : undefined) ?? 'end_turn'
  if (reason === 'tool_use') return { type: 'stop', reason: hasCalls ? reason : 'end_turn' }
  return reason === 'end_turn' ? (stopSequenceOf(choice) ?? { type: 'stop', reason }) : { type: 'stop', reason }
}

/** Returns the stop for a matched stop string. OpenAI does not report it; other servers do, in different fields. */
function stopSequenceOf(choice: Json): UpstreamEvent | undefined {
  const sequence = textOf(choice['stop_reason']) || textOf(choice['matched_stop'])
  if (sequence !== '') return { type: 'stop', reason: 'stop_sequence', sequence }
  return choice['native_finish_reason'] === 'stop_sequence' ? { type: 'stop', reason: 'stop_sequence' } : undefined
}
