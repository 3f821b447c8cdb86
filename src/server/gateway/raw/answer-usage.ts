import { recordOf } from '../../platform/json.ts'
import type { Outcome } from '../call.ts'
import { noTokens, tokenCount, withUsage } from '../counting/token-counts.ts'
import { countedOr, readJson } from './read-json.ts'

/** Usage and stop reason of a whole answer in Anthropic's format; nothing for any other body. */
export function usageOfAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'> {
  const { usage, content, stop_reason: stopReason } = recordOf(readJson(body))
  const isStated = tokenCount(recordOf(usage)['output_tokens']) !== undefined
  return {
    usage: isStated ? withUsage(noTokens, usage) : countedOr(undefined, content),
    stopReason: typeof stopReason === 'string' ? stopReason : undefined,
  }
}
