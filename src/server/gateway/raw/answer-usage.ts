import { recordOf, textIn } from '../../platform/json.ts'
import type { Outcome } from '../call.ts'
import { noTokens, tokenCount, withUsage } from '../counting/token-counts.ts'
import { keysOf, ownMembers } from '../own-members.ts'
import { countedOr, readJson } from './read-json.ts'

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
