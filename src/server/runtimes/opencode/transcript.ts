import { askedBy, type NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { countOf, type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import { shortened, shortInput } from '../remote/shortened.ts'
import type { ListedMessage } from './api.ts'

/** A tool call as the log holds it. */
interface ToolUse {
  readonly eventId: string
  readonly callId: string
}

interface Totals {
  readonly usage: Readonly<Record<(typeof counters)[number], number>>
  readonly cost_usd: number
}

const counters = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const

/**
 * What of an opencode session is in the log, and what is to be added. It may be told anything any number of times, from
 * the stream and from the list: each part becomes an event once, also after a crash, since the events name their parts in
 * `source_event_id`.
 */
export class Transcript {
  /** True while the log says that a person is asked. */
  isWaiting = false
  /** Messages up to this id belong to earlier prompts; opencode orders messages by id. */
  #after = ''
  /** Messages of the agent to our prompt. */
  readonly #assistants = new Set<string>()
  /** Parts that are in the log. */
  readonly #told = new Set<string>()
  /** Tool calls without a result, by part. */
  readonly #open = new Map<string, ToolUse>()
  /** Events of tool calls without a result, by the runtime's id of the call. */
  readonly #uses = new Map<string, string>()
  /** Event ids of texts that are still being written, by part. */
  readonly #writing = new Map<string, string>()
  #totals: Totals = noTotals

  /** Takes an event of the log, in order. */
  recall(event: NewEvent): void {
    const source = textOf(event['source_event_id'])
    const callId = textOf(event['tool_use_id'])
    if (event.type === 'agent.tool_use') {
      this.#open.set(source, { eventId: textOf(event.id), callId })
      this.#uses.set(callId, textOf(event.id))
    } else if (event.type === 'agent.tool_result') this.#close(source, callId)
    else if (source !== '') this.#told.add(source)
    if (event.type.startsWith('session.status_')) this.isWaiting = askedBy(event).length > 0
    if (event.type === 'session.usage') this.#totals = totalsIn(event)
  }

  /** Everything up to this message is of no concern. */
  begin(after: string): void {
    this.#after = after
  }

  /** Takes a message without its parts. */
  message(info: Json): void {
    const id = textOf(info['id'])
    if (info['role'] !== 'assistant' || id <= this.#after) return
    this.#assistants.add(id)
  }

  /** A message of the list with its parts, which are as new as the message: once it has ended, none of them grows. */
  listed({ info, parts }: ListedMessage): NewEvent[] {
    this.message(info)
    return parts.flatMap(part => this.part(part, hasEnded(info)))
  }

  /**
   * The events that a part adds. A part of a message that was not told before adds nothing: it may be the user's. That
   * its message has ended says nothing about a part of the stream: opencode writes messages down when it sends them, and
   * a message of the stream may be newer than the parts behind it.
   */
  part(part: Json, isWhole = false): NewEvent[] {
    const id = textOf(part['id'])
    if (!this.#assistants.has(textOf(part['messageID'])) || id === '' || this.#told.has(id)) return []
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

  /** The event that a piece of text will be part of; undefined when it is no text of the agent. */
  eventOfDelta(partId: string): string | undefined {
    return this.#writing.get(partId)
  }

  /** The event of a tool call, by the runtime's id of the call. */
  eventOfCall(callId: string): string | undefined {
    return this.#uses.get(callId)
  }

  /** Adds a tool call that is no part of a message; `id` is both its part and its call. */
  addCall({ id, name, input }: { readonly id: string; readonly name: string; readonly input: Json }): NewEvent {
    return this.#use({ id, callId: id, name, input })
  }

  /** Says that work goes on, if the log says that a person is asked. */
  endWaiting(): NewEvent[] {
    if (!this.isWaiting) return []
    this.isWaiting = false
    return [{ type: 'session.status_running' }]
  }

  /** The result of a tool call of `addCall`; none when it has one. */
  endCall(id: string, { text, isError }: { readonly text: string; readonly isError: boolean }): NewEvent[] {
    if (!this.#open.has(id)) return []
    this.#close(id, id)
    return [resultEvent({ part: id, callId: id, text, isError })]
  }

  /** Results for all tool calls that have none, since the run ends. */
  cutOff(why: string): NewEvent[] {
    return [...this.#open].map(([part, { callId }]) => {
      this.#close(part, callId)
      return resultEvent({ part, callId, text: why, isError: true })
    })
  }

  #text(part: Json, isWhole: boolean): NewEvent[] {
    const id = textOf(part['id'])
    const eventId = this.#writing.get(id) ?? newId('evt')
    if (part['ignored'] === true || part['synthetic'] === true) return []
    this.#writing.set(id, eventId)
    if (!isWhole) return []
    this.#told.add(id)
    const text = textOf(part['text'])
    if (text.trim() === '') return []
    return [
      { id: eventId, type: 'agent.message', content: [{ type: 'text', text: shortened(text) }], source_event_id: id },
    ]
  }

  #reasoning(part: Json, isWhole: boolean): NewEvent[] {
    if (!isWhole) return []
    const id = textOf(part['id'])
    this.#told.add(id)
    const thinking = nonEmptyText(part['text'])
    const content = thinking === undefined ? {} : { content: [{ type: 'thinking', thinking: shortened(thinking) }] }
    return [{ type: 'agent.thinking', ...content, source_event_id: id }]
  }

  #tool(part: Json): NewEvent[] {
    const id = textOf(part['id'])
    const state = recordOf(part['state'])
    const status = state['status']
    const input = recordOf(state['input'])
    // While the model still writes the arguments, there are none.
    if (status === 'pending' && Object.keys(input).length === 0) return []
    const callId = nonEmptyText(part['callID']) ?? id
    const use = this.#open.has(id) ? [] : [this.#use({ id, callId, name: textOf(part['tool']), input })]
    if (status !== 'completed' && status !== 'error') return use
    this.#close(id, callId)
    const isError = status === 'error'
    const text = textOf(isError ? state['error'] : state['output'])
    return [...use, resultEvent({ part: id, callId, text, isError })]
  }

  #use({ id, callId, name, input }: { id: string; callId: string; name: string; input: Json }): NewEvent {
    const eventId = newId('evt')
    this.#open.set(id, { eventId, callId })
    this.#uses.set(callId, eventId)
    return {
      id: eventId,
      type: 'agent.tool_use',
      tool_use_id: callId,
      name,
      input: shortInput(input),
      source_event_id: id,
    }
  }

  #close(part: string, callId: string): void {
    this.#open.delete(part)
    this.#uses.delete(callId)
    this.#told.add(part)
  }

  #stepFinish(part: Json): NewEvent[] {
    const id = textOf(part['id'])
    this.#told.add(id)
    this.#totals = addStep(this.#totals, part)
    return [{ type: 'session.usage', ...this.#totals, source_event_id: id }]
  }
}

const noTotals: Totals = {
  usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  cost_usd: 0,
}

function totalsIn(event: NewEvent): Totals {
  const usage = recordOf(event['usage'])
  return {
    usage: Object.fromEntries(counters.map(name => [name, countOf(usage[name]) ?? 0])) as Totals['usage'],
    cost_usd: dollarsOf(event['cost_usd']),
  }
}

/** What opencode calls output comes without the thinking, which costs the same. */
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

/** True for a message that opencode will not go on with. */
export const hasEnded = (info: Json): boolean =>
  recordOf(info['time'])['completed'] !== undefined || recordOf(info['error'])['name'] !== undefined

const hasEnd = (part: Json): boolean => recordOf(part['time'])['end'] !== undefined

interface Result {
  readonly part: string
  readonly callId: string
  readonly text: string
  readonly isError: boolean
}

const resultEvent = ({ part, callId, text, isError }: Result): NewEvent => ({
  type: 'agent.tool_result',
  tool_use_id: callId,
  content: [{ type: 'text', text: shortened(text) }],
  ...(isError && { is_error: true }),
  source_event_id: part,
})
