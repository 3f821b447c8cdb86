import { awaitedApprovals, type NewEvent, type NewEventOf } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { countOf, type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import type { McpPlace } from '../../tools/tool-source.ts'
import { shortened, shortInput } from '../remote/shortened.ts'
import type { ListedMessage } from './api.ts'

/** A tool call as the log holds it. */
interface ToolUse {
  readonly eventId: string
  readonly callId: string
  /** True for a call of an MCP server. */
  readonly isMcp: boolean
}

interface Totals {
  readonly usage: Readonly<Record<(typeof counters)[number], number>>
  readonly cost_usd: number
}

const counters = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const

/**
 * Converts messages of an opencode session to events. Messages may arrive any number of times, from the stream and the
 * list: each part becomes an event once, also after a crash, since events have the id of their part in
 * `source_event_id`.
 */
export class Transcript {
  /** True while the log waits for a person. */
  isWaiting = false
  /** Messages up to this id belong to earlier prompts; opencode orders messages by id. */
  #after = ''
  /** Ids of the agent's messages after our prompt. */
  readonly #assistants = new Set<string>()
  /** Ids of parts in the log. */
  readonly #logged = new Set<string>()
  /** Tool calls without a result, by part. */
  readonly #open = new Map<string, ToolUse>()
  /** Events of tool calls without a result, by the runtime's id of the call. */
  readonly #uses = new Map<string, string>()
  /** Event ids of texts that are being written, by part. */
  readonly #writing = new Map<string, string>()
  /** Tools of MCP servers by the events of their calls. */
  readonly #places = new Map<string, McpPlace>()
  readonly #mcpTools: ReadonlyMap<string, McpPlace>
  #totals: Totals = noTotals

  /** `mcpTools` are the tools of MCP servers by their names in opencode. */
  constructor(mcpTools: ReadonlyMap<string, McpPlace> = new Map()) {
    this.#mcpTools = mcpTools
  }

  /** Adds an event of the log, in order. */
  restore(event: NewEvent): void {
    const { source_event_id: source = '', tool_use_id: callId = event.mcp_tool_use_id ?? '' } = event
    if (event.type === 'agent.tool_use' || event.type === 'agent.mcp_tool_use') {
      this.#open.set(source, { eventId: textOf(event.id), callId, isMcp: event.type === 'agent.mcp_tool_use' })
      this.#uses.set(callId, textOf(event.id))
      const { mcp_server_name: server } = event
      if (server !== undefined) this.#places.set(textOf(event.id), { server, tool: event.name })
    } else if (event.type === 'agent.tool_result' || event.type === 'agent.mcp_tool_result') this.#close(source, callId)
    else if (source !== '') this.#logged.add(source)
    if (event.type.startsWith('session.status_')) this.isWaiting = awaitedApprovals(event).length > 0
    if (event.type === 'session.usage') this.#totals = totalsIn(event)
  }

  /** Ignores everything up to this message. */
  begin(after: string): void {
    this.#after = after
  }

  /** Adds a message without its parts. */
  message(info: Json): void {
    const id = textOf(info['id'])
    if (info['role'] !== 'assistant' || id <= this.#after) return
    this.#assistants.add(id)
  }

  /** Returns the events of a message in the list. If the message has ended, all of its parts are complete. */
  listed({ info, parts }: ListedMessage): NewEvent[] {
    this.message(info)
    return parts.flatMap(part => this.part(part, hasEnded(info)))
  }

  /**
   * Returns the events of a part. A part of an unknown message is ignored: it may be the user's. A part of the stream
   * may be incomplete although its message has ended, because a message in the stream may be newer than the parts after
   * it.
   */
  part(part: Json, isWhole = false): NewEvent[] {
    const id = textOf(part['id'])
    if (!this.#assistants.has(textOf(part['messageID'])) || id === '' || this.#logged.has(id)) return []
    switch (part['type']) {
      case 'text':
        return this.#text(part, isWhole || hasEnd(part))
      case 'reasoning':
        return this.#reasoning(part, isWhole || hasEnd(part))
      case 'tool':
        return this.#tool(part)
      case 'step-finish':
        return this.#stepFinish(part)
      default:
        return []
    }
  }

  /** Returns the event id for a piece of text; undefined when it is not text of the agent. */
  eventOfDelta(partId: string): string | undefined {
    return this.#writing.get(partId)
  }

  /** Returns the event id of a tool call, by the runtime's id of the call. */
  eventOfCall(callId: string): string | undefined {
    return this.#uses.get(callId)
  }

  /** Returns the tool of an MCP server that the call of an event is for. */
  mcpToolOf(eventId: string): McpPlace | undefined {
    return this.#places.get(eventId)
  }

  /** Adds a tool call that is not part of a message; `id` is used for both part and call. */
  addCall({ id, name, input }: { readonly id: string; readonly name: string; readonly input: Json }): ToolUseEvent {
    return this.#use({ id, callId: id, name, input })
  }

  /** Returns the event that work continues, if the log waits for a person. */
  endWaiting(): NewEvent[] {
    if (!this.isWaiting) return []
    this.isWaiting = false
    return [{ type: 'session.status_running' }]
  }

  /** Returns the result of a call of `addCall`; empty when it has one. */
  endCall(id: string, { text, isError }: { readonly text: string; readonly isError: boolean }): NewEvent[] {
    const call = this.#open.get(id)
    if (!call) return []
    this.#close(id, id)
    return [resultEvent({ part: id, callId: id, isMcp: call.isMcp, text, isError })]
  }

  /** Returns results for all tool calls without one, for a run that ends. */
  closeOpenCalls(reason: string): NewEvent[] {
    return [...this.#open].map(([part, { callId, isMcp }]) => {
      this.#close(part, callId)
      return resultEvent({ part, callId, isMcp, text: reason, isError: true })
    })
  }

  #text(part: Json, isWhole: boolean): NewEvent[] {
    const id = textOf(part['id'])
    const eventId = this.#writing.get(id) ?? newId('evt')
    if (part['ignored'] === true || part['synthetic'] === true) return []
    this.#writing.set(id, eventId)
    if (!isWhole) return []
    this.#logged.add(id)
    const text = textOf(part['text'])
    if (text.trim() === '') return []
    return [
      { id: eventId, type: 'agent.message', content: [{ type: 'text', text: shortened(text) }], source_event_id: id },
    ]
  }

  #reasoning(part: Json, isWhole: boolean): NewEvent[] {
    if (!isWhole) return []
    const id = textOf(part['id'])
    this.#logged.add(id)
    const thinking = nonEmptyText(part['text'])
    const content = thinking === undefined ? {} : { content: [{ type: 'thinking', thinking: shortened(thinking) }] }
    return [{ type: 'agent.thinking', ...content, source_event_id: id }]
  }

  #tool(part: Json): NewEvent[] {
    const id = textOf(part['id'])
    const state = recordOf(part['state'])
    const status = state['status']
    const input = recordOf(state['input'])
    // The arguments are empty while the model writes them.
    if (status === 'pending' && Object.keys(input).length === 0) return []
    const callId = nonEmptyText(part['callID']) ?? id
    const use = this.#open.has(id) ? [] : [this.#use({ id, callId, name: textOf(part['tool']), input })]
    if (status !== 'completed' && status !== 'error') return use
    const isMcp = this.#open.get(id)?.isMcp === true
    this.#close(id, callId)
    const isError = status === 'error'
    const text = textOf(isError ? state['error'] : state['output'])
    return [...use, resultEvent({ part: id, callId, isMcp, text, isError })]
  }

  #use({ id, callId, name, input }: { id: string; callId: string; name: string; input: Json }): ToolUseEvent {
    const eventId = newId('evt')
    const place = this.#mcpTools.get(name)
    this.#open.set(id, { eventId, callId, isMcp: place !== undefined })
    this.#uses.set(callId, eventId)
    if (place) this.#places.set(eventId, place)
    return {
      id: eventId,
      ...(place
        ? { type: 'agent.mcp_tool_use', name: place.tool, mcp_server_name: place.server }
        : { type: 'agent.tool_use', name }),
      tool_use_id: callId,
      input: shortInput(input),
      source_event_id: id,
    }
  }

  #close(part: string, callId: string): void {
    this.#open.delete(part)
    this.#uses.delete(callId)
    this.#logged.add(part)
  }

  #stepFinish(part: Json): NewEvent[] {
    const id = textOf(part['id'])
    this.#logged.add(id)
    this.#totals = addStep(this.#totals, part)
    return [{ type: 'session.usage', ...this.#totals, source_event_id: id }]
  }
}

type ToolUseEvent = NewEventOf<'agent.tool_use' | 'agent.mcp_tool_use'>

const noTotals: Totals = {
  usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  cost_usd: 0,
}

function totalsIn({ usage, cost_usd }: NewEventOf<'session.usage'>): Totals {
  return {
    usage: Object.fromEntries(counters.map(name => [name, usage?.[name] ?? 0])) as Totals['usage'],
    cost_usd: dollarsOf(cost_usd),
  }
}

/** opencode's output tokens exclude the thinking, which costs the same. */
function addStep({ usage, cost_usd }: Totals, part: Json): Totals {
  const { input, output, reasoning, cache } = recordOf(part['tokens'])
  const { read, write } = recordOf(cache)
  const count = (value: unknown) => countOf(value) ?? 0
  return {
    usage: {
      input_tokens: usage.input_tokens + count(input),
      output_tokens: usage.output_tokens + count(output) + count(reasoning),
      cache_creation_input_tokens: usage.cache_creation_input_tokens + count(write),
      cache_read_input_tokens: usage.cache_read_input_tokens + count(read),
    },
    cost_usd: cost_usd + dollarsOf(part['cost']),
  }
}

const dollarsOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

/** Reports whether a message has ended. */
export const hasEnded = (info: Json): boolean =>
  recordOf(info['time'])['completed'] !== undefined || recordOf(info['error'])['name'] !== undefined

const hasEnd = (part: Json): boolean => recordOf(part['time'])['end'] !== undefined

interface Result {
  readonly part: string
  readonly callId: string
  readonly isMcp: boolean
  readonly text: string
  readonly isError: boolean
}

const resultEvent = ({ part, callId, isMcp, text, isError }: Result): NewEvent => ({
  ...(isMcp
    ? { type: 'agent.mcp_tool_result', mcp_tool_use_id: callId }
    : { type: 'agent.tool_result', tool_use_id: callId }),
  content: [{ type: 'text', text: shortened(text) }],
  ...(isError && { is_error: true }),
  source_event_id: part,
})
