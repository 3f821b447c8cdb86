import { isRecord, type Json, jsonOr, listOf, recordsOf, textOf } from '../../platform/json.ts'
import type { BlockStart, UpstreamEvent } from '../core/answer-event.ts'

// Messages as the OpenTelemetry conventions for generative AI write them.

/** A part of a message: a text, a tool call, the result of one, or the type of a content that is left out. */
type MessagePart =
  | { readonly type: 'text' | 'reasoning'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: unknown }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string }
  | { readonly type: string }

interface Message {
  readonly role: string
  readonly parts: readonly MessagePart[]
  /** Why an answer ended. */
  readonly finish_reason?: string
}

/** Returns the system prompt of a canonical request. */
export const systemOf = ({ system }: Json): readonly MessagePart[] => partsOf(system)

/** Returns the messages of a canonical request. */
export const messagesOf = ({ messages }: Json): readonly Message[] =>
  recordsOf(messages).map(({ role, content }) => {
    const parts = partsOf(content)
    const isResult = parts.length > 0 && parts.every(({ type }) => type === 'tool_call_response')
    return { role: isResult ? 'tool' : textOf(role), parts }
  })

const partsOf = (content: unknown): readonly MessagePart[] =>
  typeof content === 'string'
    ? [{ type: 'text', content }]
    : listOf(content).flatMap(block => (isRecord(block) ? [partOf(block)] : []))

function partOf(block: Json): MessagePart {
  const type = textOf(block['type'])
  switch (type) {
    case 'text':
      return { type, content: textOf(block['text']) }
    case 'thinking':
      return { type: 'reasoning', content: textOf(block['thinking']) }
    case 'tool_use':
      return { type: 'tool_call', id: textOf(block['id']), name: textOf(block['name']), arguments: block['input'] }
    case 'tool_result':
      return { type: 'tool_call_response', id: textOf(block['tool_use_id']), response: textIn(block['content']) }
    default:
      // Files, images and tools of providers: only their kind.
      return { type }
  }
}

/** Returns the texts of a tool result; other content only as its kind. */
const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : recordsOf(content)
        .map(({ type, text }) => (typeof text === 'string' ? text : `[${textOf(type)}]`))
        .join('\n')

const finishReasons: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  tool_use: 'tool_call',
  refusal: 'content_filter',
}

/** Returns the message of an answer; undefined for an answer without content. */
export function answerOf(events: readonly UpstreamEvent[]): Message | undefined {
  const texts = new Map<string, string>()
  for (const event of events)
    if (event.type === 'block_delta') texts.set(event.key, (texts.get(event.key) ?? '') + event.text)
  const parts = events.flatMap(event =>
    event.type === 'block_start' ? [partOfBlock(event.block, texts.get(event.key) ?? '')] : [],
  )
  const stop = events.find(({ type }) => type === 'stop')
  const reason = stop?.type === 'stop' ? (finishReasons[stop.reason] ?? 'stop') : 'error'
  return parts.length === 0 ? undefined : { role: 'assistant', parts, finish_reason: reason }
}

function partOfBlock(block: BlockStart, text: string): MessagePart {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: text }
    case 'thinking':
      return { type: 'reasoning', content: text }
    case 'tool_use':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: jsonOr(text, text) }
    case 'whole':
      return partOf(block.block)
  }
}

/**
 * Returns messages as JSON with at most about `max` characters: the newest ones, the oldest of them cut at its end.
 * Undefined without any.
 */
export function boundedMessages(messages: readonly Message[], max: number): string | undefined {
  const kept: string[] = []
  let room = max
  for (const message of messages.toReversed()) {
    if (room <= 0) break
    const json = JSON.stringify(shortened(message, room))
    kept.unshift(json)
    room -= json.length
  }
  return kept.length === 0 ? undefined : `[${kept.join(',')}]`
}

/** Cuts every text of a message that is longer than `max`. */
function shortened(message: Message, max: number): Message {
  let room = max
  const cut = (text: string): string => {
    const short = text.slice(0, Math.max(0, room))
    room -= short.length
    return short
  }
  return {
    ...message,
    parts: message.parts.map(part => {
      if ('content' in part) return { ...part, content: cut(part.content) }
      if ('response' in part) return { ...part, response: cut(part.response) }
      if (!('arguments' in part)) return part
      const text = typeof part.arguments === 'string' ? part.arguments : JSON.stringify(part.arguments ?? {})
      return { ...part, arguments: text.length > room ? cut(text) : part.arguments }
    }),
  }
}
