import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import { assistantItems } from './assistant-items.ts'
import { callIdOf } from './call-id.ts'
import { blocksOf, inputParts, toolOutput } from './content.ts'
import type { InputContext, Note, PlacedItem } from './conversion.ts'

/** The conversation as items of input, in order. */
export function inputItems(messages: unknown, context: InputContext): readonly Json[] {
  const list = Array.isArray(messages) ? messages : []
  const placed = list.flatMap((message: unknown, index) => messageItems(message, `messages.${index}`, context))
  const last: unknown = list.at(-1)
  if (isRecord(last) && last['role'] === 'assistant') {
    context.note(`messages.${list.length - 1}`, 'not_continued')
  }
  return withoutStranded(placed, context.note).map(({ item }) => item)
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

/** Results of tools come first, side by side, as the upstream wants them; what else the user says follows. */
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

/** The upstream refuses reasoning that nothing of the model's follows, as after an answer that broke off. */
function withoutStranded(placed: readonly PlacedItem[], note: Note): readonly PlacedItem[] {
  const kept: PlacedItem[] = []
  let isFollowed = false
  for (const entry of placed.toReversed()) {
    const { type, role } = entry.item
    if (type !== 'reasoning') isFollowed = type === 'function_call' || role === 'assistant'
    if (type !== 'reasoning' || isFollowed) kept.push(entry)
    else note(entry.path, 'dropped')
  }
  return kept.reverse()
}
