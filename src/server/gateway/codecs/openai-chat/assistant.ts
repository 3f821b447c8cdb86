import { type Json, listOf, textOf } from '../../../platform/json.ts'
import { upstreamCallId } from './call-ids.ts'
import { type ChatMessage, type Conversion, joinedText, loseCacheControl, type Placed } from './content.ts'
import { reasoningFieldIn } from './reasoning-text.ts'

/** An assistant's turn; undefined when nothing of it can be said again. Chat has one text and behind it all calls. */
export function assistantMessage(blocks: readonly Placed[], conversion: Conversion): ChatMessage | undefined {
  const texts: string[] = []
  const calls: Json[] = []
  const thoughts = thoughtsOf(blocks, conversion)
  for (const placed of blocks) {
    const { block, path } = placed
    loseCacheControl(placed, conversion)
    if (block['type'] === 'text') {
      const text = textOf(block['text'])
      if (calls.length > 0 && text !== '') conversion.lose(path, 'moved_before_tool_calls')
      texts.push(text)
    } else if (block['type'] === 'tool_use') calls.push(toolCall(block))
    else if (!thoughts.paths.has(path)) conversion.lose(path, 'dropped')
  }
  const message = messageOf(joinedText(texts), calls)
  return message && { ...message, ...thoughts.fields }
}

interface Thoughts {
  /** What goes into the message. */
  readonly fields: Json
  /** Of the blocks that are in it. */
  readonly paths: ReadonlySet<string>
}

/**
 * The reasoning that this provider said before its calls: while a tool is at work, some servers refuse to go on without
 * it. In any other turn they want none.
 */
function thoughtsOf(blocks: readonly Placed[], { openReasoning }: Conversion): Thoughts {
  const paths = new Set<string>()
  const fields: Record<string, string> = {}
  if (!blocks.some(({ block }) => block['type'] === 'tool_use')) return { fields, paths }
  for (const { block, path } of blocks) {
    if (block['type'] !== 'thinking') continue
    const field = reasoningFieldIn(openReasoning(textOf(block['signature'])))
    if (field === undefined) continue
    paths.add(path)
    fields[field] = joinedText([fields[field] ?? '', textOf(block['thinking'])])
  }
  return { fields, paths }
}

/** Two turns in a row as one. */
export function joinedAssistant(first: ChatMessage, second: ChatMessage): ChatMessage {
  const text = joinedText([textOf(first['content']), textOf(second['content'])])
  const calls = [...listOf(first['tool_calls']), ...listOf(second['tool_calls'])]
  return { ...first, ...second, ...messageOf(text, calls), role: 'assistant' }
}

function messageOf(text: string, calls: readonly unknown[]): ChatMessage | undefined {
  if (calls.length > 0) return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
  return text === '' ? undefined : { role: 'assistant', content: text }
}

const toolCall = (block: Json): Json => ({
  id: upstreamCallId(textOf(block['id'])),
  type: 'function',
  function: { name: textOf(block['name']), arguments: JSON.stringify(block['input'] ?? {}) },
})
