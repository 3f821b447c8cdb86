import { recordOf, textIn } from '../../platform/json.ts'
import type { Outcome } from '../call.ts'
import { noTokens, tokenCount, withUsage } from '../counting/token-counts.ts'
import { keysOf, ownMembers } from '../own-members.ts'
import type { Span } from '../splice.ts'
import { countedOr, readJson } from './read-json.ts'

/** Usage and stop reason of a whole answer in Anthropic's format; nothing for any other body. */
export function usageOfAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'> {
  const [usageAt, stopReasonAt] = ownMembers(body, keys)?.values ?? []
  const usage = recordOf(valueAt(body, usageAt))
  const isStated = tokenCount(usage['output_tokens']) !== undefined
  return {
    usage: isStated ? withUsage(noTokens, usage) : countedOr(undefined, recordOf(readJson(body))['content']),
    stopReason: textIn(valueAt(body, stopReasonAt)),
  }
}

const keys = keysOf(['usage', 'stop_reason'])

/** The value at a place in a valid JSON text: only that is built of an answer that may be long. */
const valueAt = (body: Buffer, span: Span | undefined): unknown =>
  span && JSON.parse(body.toString('utf8', span.start, span.end))
