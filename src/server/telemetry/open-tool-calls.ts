import { endedToolCall, isOfThread, type SessionEvent } from '../../contract/events.ts'
import { Recent } from '../platform/recent.ts'

/** A tool call without a result yet. */
export interface OpenToolCall {
  readonly id: string
  readonly tool: string
  readonly kind: 'own' | 'mcp' | 'custom'
  readonly startMs: number
  /** A person decides about the call, so its duration is not that of the tool. */
  readonly isAwaited: boolean
  readonly input: unknown
}

/** A tool call and its result. */
export interface EndedToolCall extends OpenToolCall {
  readonly endMs: number
  readonly isError: boolean
  readonly content: unknown
}

/** Calls without a result yet, of all sessions of this process; the oldest are forgotten. */
const maxOpen = 10_000

/** Finds the ends of tool calls in the events of sessions. */
export interface OpenToolCalls {
  /** Returns the call that the event ends; undefined for other events, and for calls that another process stored. */
  note(sessionId: string, event: SessionEvent): EndedToolCall | undefined
}

export function createOpenToolCalls(): OpenToolCalls {
  const open = new Recent<OpenToolCall>(maxOpen)
  return {
    note(sessionId, event) {
      if (isOfThread(event)) return undefined
      const begun = begunBy(event)
      if (begun) {
        open.set(`${sessionId} ${begun.id}`, begun)
        return undefined
      }
      const id = endedToolCall(event)
      const call = id === undefined ? undefined : open.take(`${sessionId} ${id}`)
      if (!call) return undefined
      return {
        ...call,
        endMs: Date.parse(event.processed_at),
        isError: event.is_error === true,
        content: event.content,
      }
    },
  }
}

function begunBy(event: SessionEvent): OpenToolCall | undefined {
  switch (event.type) {
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
      return {
        id: event.tool_use_id,
        tool: event.name,
        kind: event.type === 'agent.tool_use' ? 'own' : 'mcp',
        startMs: Date.parse(event.processed_at),
        isAwaited: event.evaluated_permission === 'ask',
        input: event.input,
      }
    case 'agent.custom_tool_use': {
      const { id, name, input, processed_at } = event
      return { id, tool: name, kind: 'custom', startMs: Date.parse(processed_at), isAwaited: false, input }
    }
    default:
      return undefined
  }
}
