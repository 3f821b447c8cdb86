import type { ErrorCode } from '../../../../contract/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import type { StopReason, UpstreamEvent } from '../../core/answer-event.ts'
import type { UpstreamProblem } from '../../core/codec.ts'
import { codeOfUpstreamStatus } from '../../upstream/check-credential.ts'

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
export function problemInStream(body: unknown): UpstreamEvent {
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

/** What an error body says, whatever its shape. */
interface ProblemText {
  /** One plain sentence or a few; empty when the body has no words. */
  readonly message: string
  /** Its machine-readable codes and types, of every level. */
  readonly codes: readonly string[]
}

const silence: ProblemText = { message: '', codes: [] }
const maxLength = 1000
const maxDepth = 8

/** Reads an error body: OpenAI's, a text, a page, or another provider's error inside of one of these. */
function readProblem(body: unknown, depth = maxDepth): ProblemText {
  if (depth === 0) return silence
  if (typeof body === 'string') return readText(body, depth)
  if (Array.isArray(body)) return readProblem(body[0], depth - 1)
  return isRecord(body) ? readObject(body, depth) : silence
}

function readObject(body: Json, depth: number): ProblemText {
  const codes = codesOf(body)
  const metadata = recordOf(body['metadata'])
  const parts = [body['error'], body['message'], body['detail'], metadata['raw'], body['errors']]
  const said = parts.map(part => (part === body['detail'] ? readDetail(part, depth) : readProblem(part, depth - 1)))
  const messages = said.map(({ message }) => message).filter(message => message !== '')
  return {
    // A router's own sentence, and behind it that of the provider it asked.
    message: [...new Set(messages)].join(': ').slice(0, maxLength),
    codes: [...codes, ...said.flatMap(part => part.codes)],
  }
}

/** `detail` is a text, or the list of what a validator found wrong. */
function readDetail(detail: unknown, depth: number): ProblemText {
  if (!Array.isArray(detail)) return readProblem(detail, depth - 1)
  const found = detail.filter(isRecord).map(({ loc, msg }) => [listOf(loc).join('.'), textOf(msg)])
  const message = found.map(words => words.filter(word => word !== '').join(': ')).join('; ')
  return { message: plain(message), codes: [] }
}

/** Text that holds JSON stands for what that says. */
function readText(text: string, depth: number): ProblemText {
  const at = text.search(/[{[]/)
  const inner = at < 0 ? undefined : parsed(text.slice(at))
  // Words may well end in [0].
  if (inner === undefined || (at > 0 && !isRecord(listOf(inner)[0] ?? inner)))
    return { message: plain(text), codes: [] }
  const { message, codes } = readProblem(inner, depth - 1)
  return { message: message || plain(text.slice(0, at)), codes }
}

function codesOf(body: Json): string[] {
  const inner = recordOf(body['innererror'])
  return [body['code'], body['type'], inner['code'], body['error_type']].filter(code => typeof code === 'string')
}

/** Without the markup of a page, of which only the title is kept. */
function plain(text: string): string {
  const isPage = /^\s*</.test(text)
  const words = isPage ? (/<title[^>]*>([^<]*)</i.exec(text.slice(0, 10_000))?.[1] ?? '') : text
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, maxLength)
}

/** The object or array that `text` is; undefined for anything else. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Words of the upstream that only look like JSON.
    return undefined
  }
}

/** `finish_reason` of OpenAI and of those who speak its protocol with words of their own. */
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

/** Words that say that the answer is not whole. */
const faults = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource', 'malformed_function_call'])

interface Facts {
  readonly hasRefused: boolean
  readonly hasCalls: boolean
}

/** Why a choice with a finish reason ended: a stop, or an error where the upstream gave up. */
export function stopOf(choice: Json, { hasRefused, hasCalls }: Facts): UpstreamEvent {
  const finish = textOf(choice['finish_reason']).toLowerCase()
  if (faults.has(finish)) {
    const message = readProblem(choice['error']).message || `the upstream broke the answer off: ${finish}`
    return { type: 'error', code: 'upstream_unreachable', message }
  }
  if (hasRefused) return { type: 'stop', reason: 'refusal' }
  const reason = (Object.hasOwn(reasons, finish) ? reasons[finish] : undefined) ?? 'end_turn'
  if (reason === 'tool_use') return { type: 'stop', reason: hasCalls ? reason : 'end_turn' }
  return reason === 'end_turn' ? (stopSequenceOf(choice) ?? { type: 'stop', reason }) : { type: 'stop', reason }
}

/** OpenAI does not tell a stop string from any other stop; vLLM, SGLang and OpenRouter do, each in a field of its own. */
function stopSequenceOf(choice: Json): UpstreamEvent | undefined {
  const sequence = textOf(choice['stop_reason']) || textOf(choice['matched_stop'])
  if (sequence !== '') return { type: 'stop', reason: 'stop_sequence', sequence }
  return choice['native_finish_reason'] === 'stop_sequence' ? { type: 'stop', reason: 'stop_sequence' } : undefined
}
