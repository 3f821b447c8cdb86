import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, textOf } from '../../../platform/json.ts'
import { endsPrefix, hasBreakpoint, withBreakpoint, withBreakpointOf } from '../shared/extras.ts'
import { type AssistantTurn, addContent, assistantMessage, newAssistantTurn } from './write-assistant.ts'
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
  const first = newStretch()
  first.turns.push(...systemMessages(request['system'], 'system', conversion))
  const conversation: Conversation = { done: [], current: first, isAtStart: true }
  for (const [index, message] of listOf(request['messages']).entries()) {
    const path = `messages.${index}`
    if (!isRecord(message)) throw invalid(`${path} must be an object`)
    addMessage(conversation, { message, path, conversion })
  }
  const { done, current } = conversation
  const messages = [...done, current].flatMap(stretch => messagesOf(stretch, conversion))
  return conversion.rules.hasStrictTurns ? withMergedTurns(messages) : messages
}

interface Conversation {
  /** The stretches before the current one. */
  readonly done: Stretch[]
  current: Stretch
  /** False after the first message of the user or the assistant. */
  isAtStart: boolean
}

interface Added {
  readonly message: Json
  /** Such as `messages.3`. */
  readonly path: string
  readonly conversion: Conversion
}

function addMessage(conversation: Conversation, { message, path, conversion }: Added): void {
  const content = `${path}.content`
  if (message['role'] === 'system') {
    const added = systemMessages(message['content'], content, conversion)
    // Models with strict turns get later instructions in a turn of the user.
    const isMoved = conversion.rules.hasStrictTurns && !conversation.isAtStart
    if (isMoved && added.length > 0) conversion.note(path, 'moved_to_user')
    conversation.current.turns.push(...(isMoved ? added.map(moved) : added))
    return
  }
  conversation.isAtStart = false
  if (message['role'] === 'assistant')
    addContent(assistantTurn(conversation), blocksOf(message['content'], content), conversion)
  else if (message['role'] === 'user') addUser(conversation.current, userTurn(message['content'], content, conversion))
  else throw invalid(`${path}.role must be user, assistant or system`)
}

/** Returns the turn to which a message of the assistant belongs: the last one, unless other messages follow it. */
function assistantTurn(conversation: Conversation): AssistantTurn {
  const { results, turns } = conversation.current
  if (results.length + turns.length > 0) {
    conversation.done.push(conversation.current)
    conversation.current = newStretch()
  }
  return conversation.current.assistant
}

/**
 * A turn of the assistant and all messages up to its next one. Tool messages must directly follow the calls, so
 * consecutive messages of the assistant are merged, and the results precede the other turns.
 */
interface Stretch {
  readonly assistant: AssistantTurn
  readonly results: ChatMessage[]
  /** Turns of the user and of the system. */
  readonly turns: ChatMessage[]
}

const newStretch = (): Stretch => ({ assistant: newAssistantTurn(), results: [], turns: [] })

const messagesOf = ({ assistant, results, turns }: Stretch, conversion: Conversion): readonly ChatMessage[] => [
  ...assistantMessage(assistant, conversion),
  ...results,
  ...turns,
]

/** Merges turns of the same role in a row. */
function withMergedTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const runs: ChatMessage[][] = []
  for (const message of messages) {
    const run = runs.at(-1)
    if (run?.[0]?.role === message.role && (message.role === 'user' || message.role === 'system')) run.push(message)
    else runs.push([message])
  }
  return runs.flatMap(run =>
    run.length === 1 ? run : [{ ...run[0], content: contentOf(run.flatMap(partsIn)) } as ChatMessage],
  )
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

const moved = (message: ChatMessage): ChatMessage => ({
  role: 'user',
  content: `<system>\n${joinedText(partsIn(message).map(part => (part.type === 'text' ? part.text : '')))}\n</system>`,
})

const partsIn = ({ content }: ChatMessage): readonly Part[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (listOf(content) as readonly Part[])

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

function addUser({ results, turns }: Stretch, added: UserTurn): void {
  for (const result of added.results) results.push(result)
  for (const turn of added.rest) turns.push(turn)
}

const isResult = ({ block }: { readonly block: Json }): boolean => block['type'] === 'tool_result'

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
