import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import { callIdOf, type InputContext, type Note, type PlacedItem } from './conversion.ts'
import { reasoningItemOf } from './reasoning.ts'
import { blocksOf, inputParts, toolOutput } from './write-content.ts'

/** Converts the conversation to input items. */
export function inputItems(messages: unknown, context: InputContext): readonly Json[] {
  const list = Array.isArray(messages) ? messages : []
  const placed = list.flatMap((message: unknown, index) => messageItems(message, `messages.${index}`, context))
  const last: unknown = list.at(-1)
  if (isRecord(last) && last['role'] === 'assistant') {
    context.note(`messages.${list.length - 1}`, 'not_continued')
  }
  return withoutDanglingReasoning(placed, context.note).map(({ item }) => item)
}

function messageItems(message: unknown, path: string, context: InputContext): readonly PlacedItem[] {
  if (!isRecord(message)) throw invalid(`${path} must be an object`)
  const blocks = blocksOf(message['content'], `${path}.content`)
  switch (message['role']) {
    case 'user':
      return userItems(blocks, path, context.note)
    case 'assistant':
      return assistantItems(blocks, path, context)
    case 'system':
    case 'developer':
      return messageOf('system', blocks, { path, note: context.note })
    default:
      throw invalid(`${path}.role must be user, assistant or system`)
  }
}

/** Converts a user turn. Tool results come first and together, as the upstream requires; other content follows. */
function userItems(blocks: readonly Json[], path: string, note: Note): readonly PlacedItem[] {
  const results = blocks.flatMap((block, index) =>
    block['type'] === 'tool_result' ? [resultItem(block, `${path}.content.${index}`, note)] : [],
  )
  return [...results, ...messageOf('user', blocks, { path, note })]
}

interface Place {
  readonly path: string
  readonly note: Note
}

function messageOf(role: 'user' | 'system', blocks: readonly Json[], { path, note }: Place): readonly PlacedItem[] {
  const content = blocks.flatMap((block, index) =>
    block['type'] === 'tool_result' ? [] : inputParts(block, `${path}.content.${index}`, note),
  )
  return content.length === 0 ? [] : [{ path, item: { type: 'message', role, content } }]
}

function resultItem(block: Json, path: string, note: Note): PlacedItem {
  const id = textOf(block['tool_use_id'])
  if (id === '') throw invalid(`${path}.tool_use_id must be a string`)
  const output = toolOutput(block, path, note)
  return { path, item: { type: 'function_call_output', call_id: callIdOf(id), output } }
}

/** Removes reasoning without output of the model after it, as in interrupted answers. The upstream rejects it. */
function withoutDanglingReasoning(placed: readonly PlacedItem[], note: Note): readonly PlacedItem[] {
  const remaining: PlacedItem[] = []
  let isFollowed = false
  for (const entry of placed.toReversed()) {
    const { type, role } = entry.item
    if (type !== 'reasoning') isFollowed = type === 'function_call' || role === 'assistant'
    if (type !== 'reasoning' || isFollowed) remaining.push(entry)
    else note(entry.path, 'dropped')
  }
  return remaining.reverse()
}

/**
 * Converts an assistant turn. Calls of another provider's server tools become ordinary calls with their results. Blocks
 * without an equivalent are dropped and recorded.
 */
function assistantItems(blocks: readonly Json[], path: string, context: InputContext): readonly PlacedItem[] {
  const completed = completedCalls(blocks)
  const items: PlacedItem[] = []
  let texts: { type: 'output_text'; text: string }[] = []
  const endText = (): void => {
    if (texts.length > 0) items.push({ path, item: { type: 'message', role: 'assistant', content: texts } })
    texts = []
  }
  for (const [index, block] of blocks.entries()) {
    const text = plainTextOf(block)
    if (text !== undefined) {
      if (text !== '') texts.push({ type: 'output_text', text })
      continue
    }
    const place = `${path}.content.${index}`
    const item = itemOf(block, { ...context, completed })
    if (item) {
      endText()
      items.push({ path: place, item })
    } else context.note(place, 'dropped')
  }
  endText()
  return items
}

/** Returns the text of a block that is converted to text; undefined for others. */
function plainTextOf(block: Json): string | undefined {
  switch (block['type']) {
    case 'text':
      return textOf(block['text'])
    case 'compaction':
      return textOf(block['content'])
    default:
      return undefined
  }
}

interface ItemContext extends Pick<InputContext, 'openReasoning'> {
  /** Ids of server tool calls with both call and result in this turn. */
  readonly completed: ReadonlySet<string>
}

function itemOf(block: Json, { openReasoning, completed }: ItemContext): PlacedItem['item'] | undefined {
  const type = textOf(block['type'])
  if (type === 'thinking') {
    const item = reasoningItemOf(block['signature'], openReasoning)
    return item && { ...item, type: 'reasoning' }
  }
  if (type === 'tool_use') return callItem(block)
  if (completed.has(textOf(block['id'])) && isServerCall(block)) return callItem(block)
  const id = textOf(block['tool_use_id'])
  if (!completed.has(id)) return undefined
  return { type: 'function_call_output', call_id: callIdOf(id), output: serverResultText(block['content']) }
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

/** Returns the ids of server tool calls with a result. The upstream rejects calls and results without each other. */
function completedCalls(blocks: readonly Json[]): ReadonlySet<string> {
  const results = new Set(blocks.map(block => textOf(block['tool_use_id'])))
  const calls = blocks.filter(isServerCall).map(block => textOf(block['id']))
  return new Set(calls.filter(id => id !== '' && results.has(id)))
}

/** Returns the result of a server tool as text: web pages as title and URL, others as JSON without encrypted fields. */
function serverResultText(content: unknown): string {
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
