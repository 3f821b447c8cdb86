import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, textOf } from '../../platform/json.ts'
import type { Reading } from './reading.ts'

/** Kept of what one tool says; the log of a session is for reading, not for files. */
const maxResultLength = 1024 * 1024

/** An `agent.message`. */
export const message = (text: string, id?: string): NewEvent => ({
  ...(id !== undefined && { id }),
  type: 'agent.message',
  content: [{ type: 'text', text }],
})

/** An `agent.thinking` of one stretch. */
export const thought = (thinking: string): NewEvent => ({
  type: 'agent.thinking',
  content: [{ type: 'thinking', thinking }],
})

/** The `agent.tool_use` of a native tool call. It runs at Cursor, by the rules that are set there. */
export const toolUse = (callId: string, { name, args }: Json): NewEvent => ({
  type: 'agent.tool_use',
  tool_use_id: callId,
  name: textOf(name) || 'unknown',
  input: isRecord(args) ? args : args === undefined || args === null ? {} : { value: args },
  evaluated_permission: 'allow',
})

/** An `agent.tool_result`; what is no text becomes JSON, and what is very long is cut. */
export function toolResult(callId: string, result: unknown, status: 'done' | 'failed'): NewEvent {
  const text = typeof result === 'string' ? result : result === undefined ? '' : JSON.stringify(result)
  const kept =
    text.length > maxResultLength ? `${text.slice(0, maxResultLength)}\n[cut: ${text.length} characters]` : text
  return {
    type: 'agent.tool_result',
    tool_use_id: callId,
    content: kept === '' ? [] : [{ type: 'text', text: kept }],
    is_error: status === 'failed',
  }
}

/** What was held back, in order: the stretches of thinking, then the text. */
export function heldBack({ text, thinking, thoughts }: Reading): NewEvent[] {
  const stretches = thinking === '' ? thoughts : [...thoughts, thinking]
  const said = text !== undefined && text.text.trim() !== '' ? [message(text.text, text.id)] : []
  return [...stretches.map(thought), ...said]
}

/** Results for the tool calls that have none: the run has ended without them. */
export const cutOff = ({ uses }: Reading): NewEvent[] =>
  [...uses].flatMap(([callId, state]) =>
    state === 'open'
      ? [toolResult(callId, 'the run ended before this call had a result; its outcome is unknown', 'failed')]
      : [],
  )
