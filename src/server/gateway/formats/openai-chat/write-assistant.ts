import { type Json, textOf } from '../../../platform/json.ts'
import { type ReasoningField, reasoningFieldIn } from './reasoning.ts'
import { type ChatMessage, type Conversion, joinedText, noteCacheControl, type Placed } from './write-content.ts'

/** One turn of the assistant, which can consist of several messages of the canonical request. */
export interface AssistantTurn {
  readonly texts: string[]
  readonly calls: Json[]
  /** Texts of the reasoning by field. */
  readonly thoughts: Readonly<{ [Field in ReasoningField]: string[] }>
}

export const newAssistantTurn = (): AssistantTurn => ({
  texts: [],
  calls: [],
  thoughts: { reasoning_content: [], reasoning: [] },
})

/**
 * Adds the content of an assistant message. Reasoning of this provider is kept in messages with tool calls: some
 * servers reject a tool result without the reasoning before its call. Other messages must not contain reasoning, except
 * for models that require it in all of them.
 */
export function addContent(turn: AssistantTurn, blocks: readonly Placed[], conversion: Conversion): void {
  const { texts, calls, thoughts } = turn
  const { note, openReasoning, rules } = conversion
  const hasThoughts = rules.needsReasoning || blocks.some(({ block }) => block['type'] === 'tool_use')
  const keptField = (block: Json) => (hasThoughts ? reasoningField(block, openReasoning) : undefined)
  for (const placed of blocks) {
    const { block, path } = placed
    noteCacheControl(placed, conversion)
    const field = keptField(block)
    if (block['type'] === 'text') {
      const text = textOf(block['text'])
      if (calls.length > 0 && text !== '') note(path, 'moved_before_tool_calls')
      texts.push(text)
    } else if (block['type'] === 'tool_use') calls.push(toolCall(block, calls.length === 0, conversion))
    else if (field === undefined) note(path, 'dropped')
    else thoughts[field].push(textOf(block['thinking']))
  }
}

/** Returns the field of the reasoning in a block; undefined for other content, and for reasoning of other providers. */
const reasoningField = (
  { type, signature }: Json,
  openReasoning: Conversion['openReasoning'],
): ReasoningField | undefined => (type === 'thinking' ? reasoningFieldIn(openReasoning(textOf(signature))) : undefined)

/** Returns the message of a turn, in a list: one text followed by all calls. Empty if it has no equivalent content. */
export function assistantMessage(
  { texts, calls, thoughts }: AssistantTurn,
  { rules }: Conversion,
): readonly ChatMessage[] {
  const message = messageOf(joinedText(texts), calls)
  if (!message) return []
  const content = joinedText(thoughts.reasoning_content) || (rules.needsReasoning ? unknownReasoning : '')
  const reasoning = joinedText(thoughts.reasoning)
  return [{ ...message, ...(content && { reasoning_content: content }), ...(reasoning && { reasoning }) }]
}

/** In place of reasoning that is not known, such as that of another provider. An empty text is rejected. */
const unknownReasoning = ' '

function messageOf(text: string, calls: readonly unknown[]): ChatMessage | undefined {
  if (calls.length > 0) return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
  return text === '' ? undefined : { role: 'assistant', content: text }
}

function toolCall(block: Json, isFirst: boolean, { rules }: Conversion): Json {
  const id = textOf(block['id'])
  return {
    id: rules.callIdOf(id),
    type: 'function',
    function: { name: textOf(block['name']), arguments: JSON.stringify(block['input'] ?? {}) },
    ...(isFirst && rules.firstCallFields(id)),
  }
}
