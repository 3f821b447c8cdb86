import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import { callIdOf } from './call-id.ts'
import type { InputContext, PlacedItem } from './conversion.ts'
import { reasoningItemOf } from './reasoning-state.ts'

/**
 * What the model said in one turn, in its order. Calls of another provider's server tools become ordinary calls with
 * their results; what has no equivalent is dropped and listed.
 */
export function assistantItems(blocks: readonly Json[], path: string, context: InputContext): readonly PlacedItem[] {
  const served = servedCalls(blocks)
  const items: PlacedItem[] = []
  let texts: { type: 'output_text'; text: string }[] = []
  const endText = (): void => {
    if (texts.length > 0) items.push({ path, item: { type: 'message', role: 'assistant', content: texts } })
    texts = []
  }
  for (const [index, block] of blocks.entries()) {
    const text = spokenText(block)
    if (text !== undefined) {
      if (text !== '') texts.push({ type: 'output_text', text })
      continue
    }
    const place = `${path}.content.${index}`
    const item = itemOf(block, { ...context, served })
    if (item) {
      endText()
      items.push({ path: place, item })
    } else context.note(place, 'dropped')
  }
  endText()
  return items
}

/** The text of a block that is said as text; undefined for others. */
function spokenText(block: Json): string | undefined {
  switch (block['type']) {
    case 'text':
      return textOf(block['text'])
    case 'compaction':
      return textOf(block['content'])
    default:
      return undefined
  }
}

interface ItemContext extends Pick<InputContext, 'seal'> {
  /** Ids of server tool calls that have both halves in this turn. */
  readonly served: ReadonlySet<string>
}

function itemOf(block: Json, { seal, served }: ItemContext): PlacedItem['item'] | undefined {
  const type = textOf(block['type'])
  if (type === 'thinking') {
    const item = seal && reasoningItemOf(block['signature'], seal)
    return item && { ...item, type: 'reasoning' }
  }
  if (type === 'tool_use') return callItem(block)
  if (served.has(textOf(block['id'])) && isServerCall(block)) return callItem(block)
  const id = textOf(block['tool_use_id'])
  if (!served.has(id)) return undefined
  return { type: 'function_call_output', call_id: callIdOf(id), output: servedText(block['content']) }
}

function callItem({ id, name, input }: Json): PlacedItem['item'] {
  return {
    type: 'function_call',
    call_id: callIdOf(textOf(id)),
    name: textOf(name),
    arguments: JSON.stringify(input ?? {}),
  }
}

const isServerCall = ({ type }: Json): boolean => type === 'server_tool_use' || type === 'mcp_tool_use'

/** A call without its result, or the reverse, is refused upstream. */
function servedCalls(blocks: readonly Json[]): ReadonlySet<string> {
  const results = new Set(blocks.map(block => textOf(block['tool_use_id'])))
  const calls = blocks.filter(isServerCall).map(block => textOf(block['id']))
  return new Set(calls.filter(id => id !== '' && results.has(id)))
}

/** What a server tool found, as text: pages by title and address, all else as JSON without what only its maker reads. */
function servedText(content: unknown): string {
  const entries = recordsOf(content)
  const lines = entries.map(entry =>
    entry['type'] === 'web_search_result'
      ? `${textOf(entry['title'])}\n${textOf(entry['url'])}`
      : textOf(entry['text']) || readableJson(entry),
  )
  return lines.join('\n\n') || (isRecord(content) ? readableJson(content) : textOf(content)) || '(no output)'
}

const readableJson = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) => (key.startsWith('encrypted_') ? undefined : inner))
