import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, textOf } from '../../platform/json.ts'
import type { Reading } from './reading.ts'

/** Longest tool result in the log; longer ones are truncated. */
const maxResultLength = 1024 * 1024

/** Returns an `agent.message`. */
export const message = (text: string, id?: string): NewEvent => ({
  ...(id !== undefined && { id }),
  type: 'agent.message',
  content: [{ type: 'text', text }],
})

/** Returns an `agent.thinking`. */
export const thought = (thinking: string): NewEvent => ({
  type: 'agent.thinking',
  content: [{ type: 'thinking', thinking }],
})

/** Returns the `agent.tool_use` of a native tool call, which runs at Cursor with the rules that are set there. */
export const toolUse = (callId: string, { name, args }: Json): NewEvent => ({
  type: 'agent.tool_use',
  tool_use_id: callId,
  name: textOf(name) || 'unknown',
  input: isRecord(args) ? args : args === undefined || args === null ? {} : { value: args },
  evaluated_permission: 'allow',
})

/** Returns an `agent.tool_result`. A value that is not text becomes JSON, and a very long one is truncated. */
export function toolResult(callId: string, result: unknown, status: 'done' | 'failed'): NewEvent {
  const text = typeof result === 'string' ? result : result === undefined ? '' : JSON.stringify(result)
  const shown =
    text.length > maxResultLength ? `${text.slice(0, maxResultLength)}\n[truncated: ${text.length} characters]` : text
  return {
    type: 'agent.tool_result',
    tool_use_id: callId,
    content: shown === '' ? [] : [{ type: 'text', text: shown }],
    is_error: status === 'failed',
  }
}

/** Returns the buffered events in order: the thinking, then the text. */
export function pendingEvents({ text, thinking, thoughts }: Reading): NewEvent[] {
  const stretches = thinking === '' ? thoughts : [...thoughts, thinking]
  const messages = text !== undefined && text.text.trim() !== '' ? [message(text.text, text.id)] : []
  return [...stretches.map(thought), ...messages]
}

/** Returns results for the tool calls without one, for a run that has ended. */
export const interruptedResults = ({ uses }: Reading): NewEvent[] =>
  [...uses].flatMap(([callId, state]) =>
    state === 'open'
      ? [toolResult(callId, 'the run ended before this call had a result; its outcome is unknown', 'failed')]
      : [],
  )
