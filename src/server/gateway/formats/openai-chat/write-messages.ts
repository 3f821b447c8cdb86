import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, textOf } from '../../../platform/json.ts'
import { endsPrefix, hasBreakpoint, withBreakpoint, withBreakpointOf } from '../shared/extras.ts'
import { reasoningFieldIn } from './reasoning.ts'
import {
  blocksOf,
  type ChatMessage,
  type Conversion,
  contentOf,
  joinedText,
  noteCacheControl,
  type Part,
  type Placed,
  partsOf,
} from './write-content.ts'

/**
 * Converts the conversation. Tool messages are moved to directly after their calls; media, which they cannot contain,
 * follow in a user message.
 */
export function chatMessages(request: Json, conversion: Conversion): readonly ChatMessage[] {
  const messages: ChatMessage[] = systemMessages(request['system'], 'system', conversion)
  let resultsAt = messages.length
  for (const [index, message] of listOf(request['messages']).entries()) {
    const path = `messages.${index}`
    if (!isRecord(message)) throw invalid(`${path} must be an object`)
    const content = `${path}.content`
    switch (message['role']) {
      case 'system':
        addInstructions(messages, systemMessages(message['content'], content, conversion), { path, conversion })
        break
      case 'assistant':
        addAssistant(messages, assistantMessage(blocksOf(message['content'], content), conversion))
        resultsAt = messages.length
        break
      case 'user': {
        const { results, rest } = userTurn(message['content'], content, conversion)
        messages.splice(resultsAt, 0, ...results)
        for (const turn of rest) addTurn(messages, turn, conversion)
        resultsAt += results.length
        break
      }
      default:
        throw invalid(`${path}.role must be user, assistant or system`)
    }
  }
  return messages
}

/** Returns one system message with all texts, in a list; an empty list without text. */
function systemMessages(content: unknown, path: string, conversion: Conversion): ChatMessage[] {
  if (content == null) return []
  const parts = blocksOf(content, path).flatMap(placed => {
    noteCacheControl(placed, conversion)
    const { block } = placed
    if (block['type'] !== 'text') conversion.note(placed.path, 'dropped')
    const text = textOf(block['text'])
    return text === '' ? [] : withBreakpointOf(block, [{ type: 'text' as const, text }])
  })
  return parts.length === 0 ? [] : [{ role: 'system', content: contentOf(parts) }]
}

interface Instructions {
  readonly path: string
  readonly conversion: Conversion
}

/** Adds instructions. Models with strict turns get later ones in the turn of the user. */
function addInstructions(messages: ChatMessage[], added: ChatMessage[], { path, conversion }: Instructions): void {
  const isMoved = conversion.rules.hasStrictTurns && messages.some(({ role }) => role !== 'system')
  if (isMoved && added.length > 0) conversion.note(path, 'moved_to_user')
  for (const message of added) addTurn(messages, isMoved ? moved(message) : message, conversion)
}

const moved = ({ content }: ChatMessage): ChatMessage => ({
  role: 'user',
  content: `<system>\n${joinedText(partsIn(content).map(part => (part.type === 'text' ? part.text : '')))}\n</system>`,
})

/** Adds a message; for models with strict turns, to the last message if that has the same role. */
function addTurn(messages: ChatMessage[], message: ChatMessage, { rules }: Conversion): void {
  const last = messages.at(-1)
  if (last?.role !== message.role || !rules.hasStrictTurns) messages.push(message)
  else
    messages[messages.length - 1] = {
      ...last,
      content: contentOf([last, message].flatMap(({ content }) => partsIn(content))),
    }
}

const partsIn = (content: unknown): readonly Part[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (listOf(content) as readonly Part[])

/** Adds an assistant message. Consecutive ones are merged, so that tool messages directly follow their calls. */
function addAssistant(messages: ChatMessage[], message: ChatMessage | undefined): void {
  if (!message) return
  const last = messages.at(-1)
  if (last?.role === 'assistant') messages[messages.length - 1] = joinedAssistant(last, message)
  else messages.push(message)
}

interface UserTurn {
  readonly results: readonly ChatMessage[]
  readonly rest: readonly ChatMessage[]
}

function userTurn(content: unknown, path: string, conversion: Conversion): UserTurn {
  if (typeof content === 'string') return { results: [], rest: [{ role: 'user', content }] }
  const blocks = blocksOf(content, path)
  const results = blocks.filter(isResult).map(placed => toolResult(placed, conversion))
  const shown = blocks.filter(placed => !isResult(placed)).flatMap(placed => partsOf(placed, conversion))
  const parts = [...results.flatMap(({ moved }) => moved), ...shown]
  return {
    results: results.map(({ message }) => message),
    rest: parts.length === 0 ? [] : [{ role: 'user', content: contentOf(parts) }],
  }
}

const isResult = ({ block }: { readonly block: Json }): boolean => block['type'] === 'tool_result'

/** Converts an assistant turn to one text followed by all calls; undefined if it has no equivalent content. */
function assistantMessage(blocks: readonly Placed[], conversion: Conversion): ChatMessage | undefined {
  const texts: string[] = []
  const calls: Json[] = []
  const thoughts = thoughtsOf(blocks, conversion)
  for (const placed of blocks) {
    const { block, path } = placed
    noteCacheControl(placed, conversion)
    if (block['type'] === 'text') {
      const text = textOf(block['text'])
      if (calls.length > 0 && text !== '') conversion.note(path, 'moved_before_tool_calls')
      texts.push(text)
    } else if (block['type'] === 'tool_use') calls.push(toolCall(block, calls.length === 0, conversion))
    else if (!thoughts.paths.has(path)) conversion.note(path, 'dropped')
  }
  const message = messageOf(joinedText(texts), calls)
  return message && { ...message, ...thoughts.fields }
}

interface Thoughts {
  /** Fields to add to the message. */
  readonly fields: Json
  /** Paths of the blocks in `fields`. */
  readonly paths: ReadonlySet<string>
}

/**
 * Returns this provider's reasoning in a turn with tool calls. Some servers reject a tool result without the reasoning
 * before its call. Other turns must not contain reasoning, except for models that require it in all of them.
 */
function thoughtsOf(blocks: readonly Placed[], { openReasoning, rules }: Conversion): Thoughts {
  const paths = new Set<string>()
  const fields: Record<string, string> = {}
  if (!rules.needsReasoning && !blocks.some(({ block }) => block['type'] === 'tool_use')) return { fields, paths }
  for (const { block, path } of blocks) {
    if (block['type'] !== 'thinking') continue
    const field = reasoningFieldIn(openReasoning(textOf(block['signature'])))
    if (field === undefined) continue
    paths.add(path)
    fields[field] = joinedText([fields[field] ?? '', textOf(block['thinking'])])
  }
  if (rules.needsReasoning && !fields['reasoning_content']) fields['reasoning_content'] = unknownReasoning
  return { fields, paths }
}

/** In place of reasoning that is not known, such as that of another provider. An empty text is rejected. */
const unknownReasoning = ' '

/** Merges two consecutive assistant turns. */
function joinedAssistant(first: ChatMessage, second: ChatMessage): ChatMessage {
  const text = joinedText([textOf(first['content']), textOf(second['content'])])
  // The list of the first is extended: copies would take quadratic time.
  const calls = Array.isArray(first['tool_calls']) ? (first['tool_calls'] as unknown[]) : []
  for (const call of listOf(second['tool_calls'])) calls.push(call)
  const thoughts = [first, second].map(({ reasoning_content: thought }) => textOf(thought))
  const known = joinedText(thoughts.filter(thought => thought !== unknownReasoning)) || thoughts[0]
  return {
    ...first,
    ...second,
    ...messageOf(text, calls),
    role: 'assistant',
    ...(known && { reasoning_content: known }),
  }
}

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

/** Tool message for a call, and the parts that it cannot contain, which follow in a user message. */
interface ToolResult {
  readonly message: ChatMessage
  readonly moved: readonly Part[]
}

const kinds = {
  image_url: { action: 'image_moved', placeholder: '[An image: it is in the next user message]' },
  file: { action: 'document_moved', placeholder: '[A document: it is in the next user message]' },
} as const

/** Converts a `tool_result` block to a tool message, which contains only text. */
function toolResult(placed: Placed, conversion: Conversion): ToolResult {
  const { block, path } = placed
  noteCacheControl(placed, conversion)
  const callId = conversion.rules.callIdOf(textOf(block['tool_use_id']))
  const inner = block['content'] == null ? [] : blocksOf(block['content'], `${path}.content`)
  const parts = inner.flatMap(part => partsOf(part, conversion))
  const moved = parts.filter(part => part.type !== 'text')
  for (const type of new Set(moved.map(part => part.type))) conversion.note(path, kinds[type].action)
  const text = joinedText(parts.map(part => (part.type === 'text' ? part.text : kinds[part.type].placeholder)))
  const shown = block['is_error'] === true ? failed(text) : text || '(no output)'
  const isMarked = hasBreakpoint(block) || parts.some(part => part.type === 'text' && endsPrefix(part))
  const label: Part = { type: 'text', text: `From the result of tool call ${callId}:` }
  return {
    message: {
      role: 'tool',
      tool_call_id: callId,
      // The texts are joined, so a breakpoint inside moves to the end.
      content: isMarked ? withBreakpointOf(withBreakpoint({}), [{ type: 'text', text: shown }]) : shown,
    },
    moved: moved.length === 0 ? [] : [label, ...moved],
  }
}

/** Returns the text of a failed tool. Tool messages have no field for errors. */
const failed = (text: string): string =>
  text === '' ? 'The tool returned an error.' : `The tool returned an error:\n${text}`
