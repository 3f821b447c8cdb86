import type { NewEvent } from '../../../contract/events.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'
import { shortened } from '../remote/shortened.ts'
import {
  blockText,
  hasBegun,
  hasEnded,
  hasInput,
  type McpToolCall,
  merged,
  outputOf,
  resultEvent,
  type ToolCall,
  useEvent,
} from './tool-calls.ts'

/** Events and preview of an update. */
export interface Normalized {
  /** In log order. */
  readonly events: readonly NewEvent[]
  /** Text of a message that is being written. */
  readonly preview?: { readonly eventId: string; readonly text: string }
}

interface Stretch {
  readonly kind: 'message' | 'thought'
  readonly eventId: string
  readonly messageId: string
  text: string
}

const nothing: Normalized = { events: [] }
/** A longer text is split into several events. */
const maxStretch = 100_000

/**
 * Converts the updates of one turn to events. Consecutive text becomes one message. A tool call is emitted once its
 * input is known or it runs, and gets exactly one result. Dialects: section 5.
 */
export class Normalizer {
  readonly #newId: () => string
  readonly #mcpOf: (call: Json) => McpToolCall | undefined
  readonly #calls = new Map<string, ToolCall>()
  /** Announced calls with their input, for which a permission request may still arrive. */
  readonly #deferred = new Set<string>()
  #stretch: Stretch | undefined
  #usage: Json | undefined
  #hasSpoken = false

  /** `mcpOf` returns the tool of an MCP server that a call with these fields is for. */
  constructor(newEventId: () => string, mcpOf: (call: Json) => McpToolCall | undefined = () => undefined) {
    this.#newId = newEventId
    this.#mcpOf = mcpOf
  }

  /** True once the model has written text or called a tool. */
  get hasSpoken(): boolean {
    return this.#hasSpoken
  }

  /** True while a call has no result. */
  get hasOpenCalls(): boolean {
    return [...this.#calls.values()].some(({ eventId, isEnded }) => eventId !== undefined && !isEnded)
  }

  take(update: Json): Normalized {
    switch (update['sessionUpdate']) {
      case 'agent_message_chunk':
        return this.#text('message', update)
      case 'agent_thought_chunk':
        return this.#text('thought', update)
      case 'tool_call':
      case 'tool_call_update':
        return { events: this.#call(update) }
      case 'usage_update':
        this.#usage = update
        return nothing
      case 'session_info_update':
        return textOf(update['title']) === '' ? nothing : { events: [titled(textOf(update['title']))] }
      default:
        return nothing
    }
  }

  /** Emits the deferred calls: no permission request has arrived for them. */
  settle(): NewEvent[] {
    const deferred = [...this.#deferred]
    return deferred.length === 0 ? [] : [...this.#flush(), ...deferred.flatMap(id => this.#emit(id, 'allow'))]
  }

  /** Returns the known fields of a call, merged with new ones. */
  fieldsOf = (toolCall: Json): Json => merged(this.#calls.get(textOf(toolCall['toolCallId'])), toolCall).fields

  /**
   * Emits the call of a permission request, unless it was emitted, and the events before it; returns the call's event
   * id.
   */
  emitRequested(toolCall: Json, permission: ToolPolicy): { readonly events: NewEvent[]; readonly eventId: string } {
    const call = this.#merge(toolCall)
    const events = call.eventId === undefined ? [...this.#flush(), ...this.#emit(call.id, permission)] : []
    return { events, eventId: this.#calls.get(call.id)?.eventId ?? '' }
  }

  /** Ends the turn: returns unfinished text, and results for calls without one. */
  end(reason: string): NewEvent[] {
    const events = [...this.settle(), ...this.#flush()]
    for (const call of this.#calls.values())
      if (call.eventId !== undefined && !call.isEnded) events.push(this.#ended(call, reason, true))
    if (this.#usage) events.push(usageEvent(this.#usage))
    this.#usage = undefined
    return events
  }

  #text(kind: Stretch['kind'], update: Json): Normalized {
    const text = blockText(recordOf(update['content']))
    if (text === '') return nothing
    this.#hasSpoken = true
    const messageId = textOf(update['messageId'])
    const last = this.#stretch
    const isSame = last?.kind === kind && last.messageId === messageId && last.text.length < maxStretch
    const events = [...this.settle(), ...(isSame ? [] : this.#flush())]
    this.#stretch ??= { kind, eventId: this.#newId(), messageId, text: '' }
    this.#stretch.text += text
    return kind === 'thought' ? { events } : { events, preview: { eventId: this.#stretch.eventId, text } }
  }

  #flush(): NewEvent[] {
    const stretch = this.#stretch
    this.#stretch = undefined
    if (!stretch || stretch.text.trim() === '') return []
    const { eventId: id } = stretch
    const text = shortened(stretch.text)
    return stretch.kind === 'message'
      ? [{ id, type: 'agent.message', content: [{ type: 'text', text }] }]
      : [{ id, type: 'agent.thinking', content: [{ type: 'thinking', thinking: text }] }]
  }

  #merge(update: Json): ToolCall {
    const call = merged(this.#calls.get(textOf(update['toolCallId'])), update)
    this.#calls.set(call.id, call)
    return call
  }

  #call(update: Json): NewEvent[] {
    const call = this.#merge(update)
    if (call.id === '' || call.isEnded) return []
    const events: NewEvent[] = []
    if (call.eventId === undefined && hasBegun(call)) events.push(...this.#flush(), ...this.#emit(call.id, 'allow'))
    else if (call.eventId === undefined && hasInput(call)) this.#deferred.add(call.id)
    if (hasEnded(call)) events.push(this.#ended(call, outputOf(call), call.fields['status'] === 'failed'))
    return events
  }

  #emit(id: string, permission: ToolPolicy): NewEvent[] {
    this.#deferred.delete(id)
    const call = this.#calls.get(id)
    if (!call || call.eventId !== undefined) return []
    this.#hasSpoken = true
    const eventId = this.#newId()
    const emitted = { ...call, eventId, mcp: this.#mcpOf(call.fields) }
    this.#calls.set(id, emitted)
    return [useEvent(emitted, { id: eventId, permission })]
  }

  #ended(call: ToolCall, text: string, isError: boolean): NewEvent {
    const known = this.#calls.get(call.id) ?? call
    this.#calls.set(call.id, { ...known, isEnded: true })
    return resultEvent({ id: call.id, isMcp: known.mcp !== undefined }, text, isError)
  }
}

const titled = (title: string): NewEvent => ({ type: 'session.updated', title: title.slice(0, 200) })

/** Context usage that the program reports. The cost of its model calls is in our ledger. */
function usageEvent({ used, size, cost }: Json): NewEvent {
  const { amount, currency } = recordOf(cost)
  const isDollars = typeof amount === 'number' && currency === 'USD'
  return {
    type: 'session.usage',
    usage: { context_tokens: Number(used) || 0, context_window: Number(size) || 0 },
    ...(isDollars && { cost_usd: amount }),
  }
}
