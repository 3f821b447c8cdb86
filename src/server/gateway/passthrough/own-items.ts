import { isRecord, type Json, listOf, textOf } from '../../platform/json.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { Degradation } from '../core/degradations.ts'
import { summaryMessage, summaryPrefix } from '../formats/openai-responses/compaction.ts'
import { thinkingPrefix } from '../formats/openai-responses/reasoning.ts'

const marks = [thinkingPrefix, summaryPrefix].map(prefix => Buffer.from(`"${prefix}`))
const inputKey = keysOf(['input'])

/** Checks without parsing whether a request may hold items that the gateway made; false is certain. */
export const mayContainOwnItems = (body: Buffer): boolean => marks.some(mark => body.includes(mark))

/**
 * Removes items from a Responses request that the gateway made for models of other formats, because OpenAI rejects
 * them. A summary becomes a message. Reasoning is dropped, as for every model that did not produce it.
 */
export function withoutOwnItems(body: Buffer): { readonly body: Buffer; readonly degraded: readonly Degradation[] } {
  const span = ownMembers(body, inputKey)?.values[0]
  const items = listOf(span && (JSON.parse(body.toString('utf8', span.start, span.end)) as unknown))
  const degraded: Degradation[] = []
  const input = items.flatMap((item, at): readonly unknown[] => {
    if (!isRecord(item)) return [item]
    if (isOwnReasoning(item)) {
      degraded.push({ path: `input.${at}`, action: 'dropped' })
      return []
    }
    return [summaryMessage(item) ?? item]
  })
  return { body: editTopLevel(body, { set: { input } }).body, degraded }
}

const isOwnReasoning = ({ type, encrypted_content: content }: Json): boolean =>
  type === 'reasoning' && textOf(content).startsWith(thinkingPrefix)
