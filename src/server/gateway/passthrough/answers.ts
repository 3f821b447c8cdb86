import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { UsageUpdate } from '../core/answer-event.ts'
import type { Outcome, UpstreamError } from '../core/call.ts'
import { noTokens, type TokenCounts, tokenCount, withUsage } from '../tokens/token-counts.ts'
import type { UpstreamFault } from './passthrough-format.ts'

/** Start of an error body in every format. A successful body starts with its id or its type instead. */
const errorStart = /^\s*\{\s*"(?:error"\s*:\s*["{]|type"\s*:\s*"error")/

/** Returns the error in a body that came with a success status; undefined for a normal body. */
export function errorInAnswer(body: Buffer): UpstreamFault | undefined {
  if (!errorStart.test(body.toString('latin1', 0, 128))) return undefined
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(parsed) ? faultOf(parsed) : undefined
  } catch {
    // A truncated error is still an error.
    return { message: '' }
  }
}

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Reports whether the bytes start and end like a JSON object. Parsing all of them would delay the response. */
export function isWholeJson(body: Buffer): boolean {
  let start = 0
  let end = body.length - 1
  while (isBlank(body[start])) start++
  while (end > start && isBlank(body[end])) end--
  return body[start] === 0x7b && end > start && body[end] === 0x7d
}

/** Returns the message and the code of an error in any format: inside `error`, or beside it. */
export function faultOf(data: unknown): UpstreamFault {
  const body = recordOf(data)
  if (typeof body['error'] === 'string') return { message: body['error'] }
  const error = isRecord(body['error']) ? body['error'] : body
  const word = [error['code'], error['type']].find(value => typeof value === 'string' && value !== 'error')
  return {
    message: typeof error['message'] === 'string' ? error['message'] : '',
    word: typeof word === 'string' ? word : undefined,
  }
}

/** Returns why an OpenAI response ended: the reason of an incomplete response, else its status. */
export function stopReasonOf({ status, incomplete_details: details }: Json): string | undefined {
  const { reason } = recordOf(details)
  if (typeof reason === 'string') return reason
  return typeof status === 'string' ? status : undefined
}

const tooLong =
  /context_length|context_window|prompt is too long|input is too long|maximum context|context (?:length|window|limit)|too many (?:input )?tokens|request_too_large/i
const policy = /content_filter|content_policy|policy_violation|policyviolation|usage polic|safety_policy/i

/** Returns why another model might succeed, judged by the text of an error. */
export function reasonOfText(text: string): UpstreamError['reason'] {
  if (tooLong.test(text)) return 'context_window'
  return policy.test(text) ? 'policy' : undefined
}

/** OpenRouter answers 403 for a prompt that its moderation rejects; every other 403 is about the credential. */
const flagged = /\binput was flagged\b|"flagged_input"/i

/** Returns why another model might succeed, judged by the status and the text of an error response. */
export function reasonOfError(status: number, text: string): UpstreamError['reason'] {
  if (status === 403) return flagged.test(text) ? 'policy' : undefined
  return status === 400 || status === 413 ? reasonOfText(text) : undefined
}

/** Returns usage and stop reason of a whole response in Anthropic's format; zero counts for any other body. */
export function usageOfAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'> {
  const member = body.length > maxScannedLength ? parsed(body) : scanned(body)
  const usage = member('usage')
  const isStated = tokenCount(recordOf(usage)['output_tokens']) !== undefined
  return {
    usage: isStated ? withUsage(noTokens, usage) : countedOr(undefined, member('content')),
    stopReason: textIn(member('stop_reason')),
  }
}

const names = ['usage', 'stop_reason', 'content'] as const
const keys = keysOf(names)

/** Returns a top-level member of a response; undefined when it is missing. */
type ReadMember = (name: (typeof names)[number]) => unknown

/** Bytes. The scanner never shrinks its memory, so the few longer responses are parsed instead. */
const maxScannedLength = 2 * 1024 * 1024

/** Parses only the members that are read. */
function scanned(body: Buffer): ReadMember {
  const found = ownMembers(body, keys)?.values
  return name => {
    const span = found?.[names.indexOf(name)]
    return span && JSON.parse(body.toString('utf8', span.start, span.end))
  }
}

function parsed(body: Buffer): ReadMember {
  const answer = recordOf(readJson(body))
  return name => answer[name]
}

/** Terms with which the formats mark that the model or a content filter declined to answer. */
const declining = /"(refusal|content_filter|blockReason|finishReason)"/

/** Returns a check whether `judge` finds a whole response to be a refusal. Only bodies with a term above are parsed. */
export const declinesBy =
  (judge: (answer: Json) => boolean) =>
  (body: Buffer): boolean =>
    body.length < maxErrorLength && declining.test(body.toString('latin1')) && judge(recordOf(readJson(body)))

const maxErrorLength = 64 * 1024

const bytesPerToken = 4

/** Parses a body; undefined when it is not JSON. */
export const readJson = (body: Buffer): unknown => jsonOr(body.toString('utf8'), undefined)

/** Returns the counts that a response states; without them an estimate from its content, marked as estimated. */
export function countedOr(stated: UsageUpdate | undefined, content: unknown): TokenCounts {
  if (stated?.output_tokens !== undefined) return { ...noTokens, ...stated }
  if (content === undefined) return noTokens
  const guess = Math.ceil(JSON.stringify(content).length / bytesPerToken)
  return { ...noTokens, ...stated, output_tokens: guess, estimated: true }
}
