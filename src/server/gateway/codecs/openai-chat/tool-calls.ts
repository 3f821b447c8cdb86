import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { clientCallId, madeCallId } from './call-ids.ts'
import { JsonDepth } from './json-depth.ts'

interface ToolCall {
  readonly key: string
  readonly number: number
  id: string
  name: string
  /** Arguments that came before the call could start. */
  held: string
  readonly depth: JsonDepth
  state: 'held' | 'open' | 'closed'
}

/** What one entry of `tool_calls` says. */
interface Part {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A call whose id has not come with so many characters of its arguments gets one of ours. */
const maxHeldLength = 1024

/**
 * The tool calls of one answer. Id and name may come late, once or with every part; parts of several calls may be mixed.
 * A call ends as soon as its JSON is complete and something else goes on, so that the next one need not wait.
 */
export class ToolCalls {
  readonly #requestId: string
  readonly #calls: ToolCall[] = []
  readonly #byIndex = new Map<number, ToolCall>()
  readonly #givenIds = new Set<string>()
  #running = 0

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  /** True once a call has started. */
  get hasStarted(): boolean {
    return this.#givenIds.size > 0
  }

  /** True when the arguments of a call have come, but never its name: nobody can run it. */
  get lacksName(): boolean {
    return this.#calls.some(({ name, held }) => name === '' && held.trim() !== '')
  }

  read(entries: readonly unknown[], events: ModelEvent[]): void {
    for (const entry of entries) if (isRecord(entry)) this.#readPart(partOf(entry), events)
  }

  /** Something other than a call goes on: what is complete ends. */
  settle(events: ModelEvent[]): void {
    if (this.#running === 0) return
    for (const call of this.#calls) if (call.state === 'open' && call.depth.isComplete) this.#close(call, events)
  }

  /** Nothing more comes: calls that still wait for an id start without. */
  finish(events: ModelEvent[]): void {
    for (const call of this.#calls) if (call.state === 'held' && call.name !== '') this.#start(call, events)
  }

  #readPart(part: Part, events: ModelEvent[]): void {
    const call = this.#callOf(part) ?? this.#addCall(part)
    if (call.id === '') call.id = part.id
    if (call.name === '') call.name = part.name
    if (part.arguments !== '') this.#addArguments(call, part.arguments, events)
    if (call.state === 'held' && canStart(call)) this.#start(call, events)
    if (this.#running > 1) this.settle(events)
  }

  /** Some upstreams give every call the index 0, or none at all; others repeat id and name with each part. */
  #callOf(part: Part): ToolCall | undefined {
    const call = this.#namedBy(part)
    return call && isAnother(call, part) ? undefined : call
  }

  #namedBy({ index, id }: Part): ToolCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index)
    return id === '' ? this.#calls.at(-1) : this.#calls.find(call => call.id === id)
  }

  #addCall({ index }: Part): ToolCall {
    const number = this.#calls.length
    const call: ToolCall = {
      key: `call-${number}`,
      number,
      id: '',
      name: '',
      held: '',
      depth: new JsonDepth(),
      state: 'held',
    }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }

  #addArguments(call: ToolCall, text: string, events: ModelEvent[]): void {
    if (call.state === 'closed') {
      const path = `tool_calls.${call.number}`
      if (text.trim() !== '') events.push({ type: 'degraded', path, action: 'text_after_arguments_dropped' })
      return
    }
    // How some say that there are none.
    if (!call.depth.hasBegun && text.trim() === 'null') return
    call.depth.push(text)
    if (call.state === 'open') events.push({ type: 'block_delta', key: call.key, text })
    else call.held += text
  }

  #start(call: ToolCall, events: ModelEvent[]): void {
    const { key, name, held } = call
    call.state = 'open'
    this.#running++
    events.push({ type: 'block_start', key, block: { type: 'tool_use', id: this.#newId(call), name } })
    if (held !== '') events.push({ type: 'block_delta', key, text: held })
    call.held = ''
  }

  #newId({ id, number }: ToolCall): string {
    const own = id === '' ? '' : clientCallId(id)
    const given = own === '' || this.#givenIds.has(own) ? madeCallId(this.#requestId, number) : own
    this.#givenIds.add(given)
    return given
  }

  #close(call: ToolCall, events: ModelEvent[]): void {
    call.state = 'closed'
    this.#running--
    events.push({ type: 'block_stop', key: call.key })
  }
}

const canStart = ({ name, id, held, depth }: ToolCall): boolean =>
  name !== '' && (id !== '' || depth.isComplete || held.length > maxHeldLength)

/** True when `part` opens another call than the one that its index or place points to. */
function isAnother(call: ToolCall, { id, name, arguments: text }: Part): boolean {
  if (name === '' || call.name === '' || (id !== '' && id === call.id)) return false
  const isComplete = call.depth.isComplete
  return id !== '' && call.id !== '' ? isComplete || name !== call.name : isComplete && text.trim() !== ''
}

function partOf(entry: Json): Part {
  const said = recordOf(entry['function'])
  const index = entry['index']
  return {
    index: typeof index === 'number' ? index : undefined,
    id: textOf(entry['id']),
    name: textOf(said['name']),
    arguments: argumentsOf(said['arguments']),
  }
}

/** Arguments are JSON as text; some upstreams send the object itself. */
const argumentsOf = (value: unknown): string => (isRecord(value) ? JSON.stringify(value) : textOf(value))
