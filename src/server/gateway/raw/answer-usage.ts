import { type Json, recordOf, textIn } from '../../platform/json.ts'
import type { Outcome } from '../call.ts'
import { noTokens, tokenCount, withUsage } from '../counting/token-counts.ts'
import { keysOf, ownMembers } from '../own-members.ts'
import type { Span } from '../splice.ts'
import { countedOr, readJson } from './read-json.ts'

/** Usage and stop reason of a whole answer in Anthropic's format; nothing for any other body. */
export function usageOfAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'> {
  const { usage, stop_reason } = body.length > longestScanned ? recordOf(readJson(body)) : scanned(body)
  const isStated = tokenCount(recordOf(usage)['output_tokens']) !== undefined
  return {
    usage: isStated ? withUsage(noTokens, usage) : countedOr(undefined, recordOf(readJson(body))['content']),
    stopReason: textIn(stop_reason),
  }
}

const keys = keysOf(['usage', 'stop_reason'])

/** The scanner keeps the room that it has once taken, and few answers are longer. */
const longestScanned = 2 * 1024 * 1024

/** The two members that count, without building the rest. */
function scanned(body: Buffer): Json {
  const [usage, stopReason] = ownMembers(body, keys)?.values ?? []
  return { usage: valueAt(body, usage), stop_reason: valueAt(body, stopReason) }
}

/** The value at a place in a valid JSON text. */
const valueAt = (body: Buffer, span: Span | undefined): unknown =>
  span && JSON.parse(body.toString('utf8', span.start, span.end))
