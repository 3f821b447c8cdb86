import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, textOf } from '../../../platform/json.ts'
import { endsPrefix, hasBreakpoint, withBreakpoint, withBreakpointOf } from '../shared/extras.ts'
import { reasoningFieldIn } from './reasoning.ts'
import { upstreamCallId } from './tool-calls.ts'
import {
  blocksOf,
  type ChatMessage,
  type Conversion,
  contentOf,
  joinedText,
  loseCacheControl,
  type Part,
  type Placed,
  partsOf,
} from './write-content.ts'

/**
 * The conversation in Chat's form. Tool messages stand right behind the calls that they answer, whatever came between;
 * what they cannot hold follows in a user message.
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
        messages.push(...systemMessages(message['content'], content, conversion))
        break
      case 'assistant':
        addAssistant(messages, assistantMessage(blocksOf(message['content'], content), conversion))
        resultsAt = messages.length
        break
      case 'user': {
        const { results, rest } = userTurn(message['content'], content, conversion)
        messages.splice(resultsAt, 0, ...results)
        messages.push(...rest)
        resultsAt += results.length
        break
      }
      default:
        throw invalid(`${path}.role must be user, assistant or system`)
    }
  }
  return messages
}

/** One message of all the texts, in order; none without text. */
function systemMessages(content: unknown, path: string, conversion: Conversion): ChatMessage[] {
  if (content == null) return []
  const parts = blocksOf(content, path).flatMap(placed => {
    loseCacheControl(placed, conversion)
    const { block } = placed
    if (block['type'] !== 'text') conversion.lose(placed.path, 'dropped')
    const text = textOf(block['text'])
    return text === '' ? [] : withBreakpointOf(block, [{ type: 'text' as const, text }])
  })
  return parts.length === 0 ? [] : [{ role: 'system', content: contentOf(parts) }]
}

/** Two assistant turns in a row are one: else the results of the first would not follow their calls. */
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
  const said = blocks.filter(placed => !isResult(placed)).flatMap(placed => partsOf(placed, conversion))
  const parts = [...results.flatMap(({ moved }) => moved), ...said]
  return {
    results: results.map(({ message }) => message),
    rest: parts.length === 0 ? [] : [{ role: 'user', content: contentOf(parts) }],
  }
}

const isResult = ({ block }: { readonly block: Json }): boolean => block['type'] === 'tool_result'

/** An assistant's turn; undefined when nothing of it can be said again. Chat has one text and behind it all calls. */
function assistantMessage(blocks: readonly Placed[], conversion: Conversion): ChatMessage | undefined {
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
function joinedAssistant(first: ChatMessage, second: ChatMessage): ChatMessage {
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

/** The answer to a call, and what a tool message cannot hold: that belongs into a user message behind it. */
interface ToolResult {
  readonly message: ChatMessage
  readonly moved: readonly Part[]
}

const kinds = {
  image_url: { action: 'image_moved', placeholder: '[An image: it is in the next user message]' },
  file: { action: 'document_moved', placeholder: '[A document: it is in the next user message]' },
} as const

/** Turns a `tool_result` block into a tool message, which holds nothing but text. */
function toolResult(placed: Placed, conversion: Conversion): ToolResult {
  const { block, path } = placed
  loseCacheControl(placed, conversion)
  const callId = textOf(block['tool_use_id'])
  const inner = block['content'] == null ? [] : blocksOf(block['content'], `${path}.content`)
  const parts = inner.flatMap(part => partsOf(part, conversion))
  const moved = parts.filter(part => part.type !== 'text')
  for (const type of new Set(moved.map(part => part.type))) conversion.lose(path, kinds[type].action)
  const text = joinedText(parts.map(part => (part.type === 'text' ? part.text : kinds[part.type].placeholder)))
  const said = block['is_error'] === true ? failed(text) : text || '(no output)'
  const isMarked = hasBreakpoint(block) || parts.some(part => part.type === 'text' && endsPrefix(part))
  const label: Part = { type: 'text', text: `From the result of tool call ${upstreamCallId(callId)}:` }
  return {
    message: {
      role: 'tool',
      tool_call_id: upstreamCallId(callId),
      // A mark inside stands for all of it: what is joined has one end.
      content: isMarked ? withBreakpointOf(withBreakpoint({}), [{ type: 'text', text: said }]) : said,
    },
    moved: moved.length === 0 ? [] : [label, ...moved],
  }
}

/** Tool messages have no field for it. */
const failed = (text: string): string =>
  text === '' ? 'The tool returned an error.' : `The tool returned an error:\n${text}`
