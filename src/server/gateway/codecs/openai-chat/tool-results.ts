import { textOf } from '../../../platform/json.ts'
import { upstreamCallId } from './call-ids.ts'
import {
  blocksOf,
  type ChatMessage,
  type Conversion,
  joinedText,
  loseCacheControl,
  type Part,
  type Placed,
  partsOf,
} from './content.ts'

/** The answer to a call, and what a tool message cannot hold: that belongs into a user message behind it. */
export interface ToolResult {
  readonly message: ChatMessage
  readonly moved: readonly Part[]
}

const kinds = {
  image_url: { action: 'image_moved', placeholder: '[An image: it is in the next user message]' },
  file: { action: 'document_moved', placeholder: '[A document: it is in the next user message]' },
} as const

/** Turns a `tool_result` block into a tool message, which holds nothing but text. */
export function toolResult(placed: Placed, conversion: Conversion): ToolResult {
  const { block, path } = placed
  loseCacheControl(placed, conversion)
  const callId = textOf(block['tool_use_id'])
  const inner = block['content'] == null ? [] : blocksOf(block['content'], `${path}.content`)
  const parts = inner.flatMap(part => partsOf(part, conversion))
  const moved = parts.filter(part => part.type !== 'text')
  for (const type of new Set(moved.map(part => part.type))) conversion.lose(path, kinds[type].action)
  const text = joinedText(parts.map(part => (part.type === 'text' ? part.text : kinds[part.type].placeholder)))
  const label: Part = { type: 'text', text: `From the result of tool call ${upstreamCallId(callId)}:` }
  return {
    message: {
      role: 'tool',
      tool_call_id: upstreamCallId(callId),
      content: block['is_error'] === true ? failed(text) : text || '(no output)',
    },
    moved: moved.length === 0 ? [] : [label, ...moved],
  }
}

/** Tool messages have no field for it. */
const failed = (text: string): string =>
  text === '' ? 'The tool returned an error.' : `The tool returned an error:\n${text}`
