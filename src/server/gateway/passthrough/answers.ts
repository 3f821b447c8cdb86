import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { UsageUpdate } from '../core/answer-event.ts'
import type { Outcome, Refusal } from '../core/call.ts'
import { noTokens, type TokenCounts, tokenCount, withUsage } from '../tokens/token-counts.ts'
import type { UpstreamFault } from './wire.ts'

/** How the body of an error begins in all formats; an answer begins with its id or its type. */
const errorStart = /^\s*\{\s*"(?:error"\s*:\s*["{]|type"\s*:\s*"error")/

/** The error in the body of an answer with a status of success; undefined for an answer. */
export function errorInAnswer(body: Buffer): UpstreamFault | undefined {
  if (!errorStart.test(body.toString('latin1', 0, 128))) return undefined
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(parsed) ? faultOf(parsed) : undefined
  } catch {
    // Half an error is no answer either.
    return { message: '' }
  }
}

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** True for bytes that begin and end as a JSON object does: parsing all would delay the answer. */
export function isWholeJson(body: Buffer): boolean {
  let start = 0
  let end = body.length - 1
  while (isBlank(body[start])) start++
  while (end > start && isBlank(body[end])) end--
  return body[start] === 0x7b && end > start && body[end] === 0x7d
}

/** The words of an error, wherever one of the formats keeps them: in `error`, or beside it. */
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

/** Why a response ended: its reason when it is not complete, else its status. */
export function stopReasonOf({ status, incomplete_details: details }: Json): string | undefined {
  const { reason } = recordOf(details)
  if (typeof reason === 'string') return reason
  return typeof status === 'string' ? status : undefined
}

const tooLong =
  /context_length|context_window|prompt is too long|input is too long|maximum context|context (?:length|window|limit)|too many (?:input )?tokens|request_too_large/i
const policy = /content_filter|content_policy|policy_violation|policyviolation|usage polic|safety_policy/i

/** What another model may be able to do, as the words of an error tell. */
export function reasonOfText(text: string): Refusal['reason'] {
  if (tooLong.test(text)) return 'context_window'
  return policy.test(text) ? 'policy' : undefined
}

/** Usage and stop reason of a whole answer in Anthropic's format; nothing for any other body. */
export function usageOfAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'> {
  const member = body.length > longestScanned ? parsed(body) : scanned(body)
  const usage = member('usage')
  const isStated = tokenCount(recordOf(usage)['output_tokens']) !== undefined
  return {
    usage: isStated ? withUsage(noTokens, usage) : countedOr(undefined, member('content')),
    stopReason: textIn(member('stop_reason')),
  }
}

const names = ['usage', 'stop_reason', 'content'] as const
const keys = keysOf(names)

/** Reads a member at the top level of an answer; undefined for one that is not there. */
type ReadMember = (name: (typeof names)[number]) => unknown

/** The scanner keeps the room that it has once taken, and few answers are longer. */
const longestScanned = 2 * 1024 * 1024

/** Builds only what is asked for. */
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

/** The words of all formats for an answer that the model, or what watches over it, declines to give. */
const declining = /"(refusal|content_filter|blockReason|finishReason)"/

/** True for a whole answer in which `judge` finds no more than a refusal. Only one that may be such is parsed. */
export const declinesBy =
  (judge: (answer: Json) => boolean) =>
  (body: Buffer): boolean =>
    body.length < longestRefusal && declining.test(body.toString('latin1')) && judge(recordOf(readJson(body)))

const longestRefusal = 64 * 1024

const bytesPerToken = 4

/** The JSON of a body; undefined when it is none. */
export const readJson = (body: Buffer): unknown => jsonOr(body.toString('utf8'), undefined)

/** The counts that an answer states; without any a guess from its content, marked as such. */
export function countedOr(stated: UsageUpdate | undefined, content: unknown): TokenCounts {
  if (stated?.output_tokens !== undefined) return { ...noTokens, ...stated }
  if (content === undefined) return noTokens
  const guess = Math.ceil(JSON.stringify(content).length / bytesPerToken)
  return { ...noTokens, ...stated, output_tokens: guess, estimated: true }
}
