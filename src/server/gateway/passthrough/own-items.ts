import { isRecord, type Json, listOf, textOf } from '../../platform/json.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { Degradation } from '../core/degradations.ts'
import { summaryMessage, summaryPrefix } from '../formats/openai-responses/compaction.ts'
import { thinkingPrefix } from '../formats/openai-responses/reasoning.ts'

const marks = [thinkingPrefix, summaryPrefix].map(prefix => Buffer.from(`"${prefix}`))
const inputKey = keysOf(['input'])

/** False: the request holds nothing that this gateway gave its client in place of another provider's thoughts. */
export const mayHoldOwnItems = (body: Buffer): boolean => marks.some(mark => body.includes(mark))

/**
 * A Responses request without the items that the gateway made for models of other formats, which OpenAI refuses: a summary is
 * said as a message, and thoughts are left out, as they are for every model that did not think them.
 */
export function withoutOwnItems(body: Buffer): { readonly body: Buffer; readonly degraded: readonly Degradation[] } {
  const span = ownMembers(body, inputKey)?.values[0]
  const items = listOf(span && (JSON.parse(body.toString('utf8', span.start, span.end)) as unknown))
  const degraded: Degradation[] = []
  const input = items.flatMap((item, at): readonly unknown[] => {
    if (!isRecord(item)) return [item]
    if (isThought(item)) {
      degraded.push({ path: `input.${at}`, action: 'dropped' })
      return []
    }
    return [summaryMessage(item) ?? item]
  })
  return { body: editTopLevel(body, { set: { input } }).body, degraded }
}

const isThought = ({ type, encrypted_content: content }: Json): boolean =>
  type === 'reasoning' && textOf(content).startsWith(thinkingPrefix)
