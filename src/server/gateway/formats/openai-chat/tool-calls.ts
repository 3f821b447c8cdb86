import { createHash } from 'node:crypto'
import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'

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

  read(entries: readonly unknown[], events: UpstreamEvent[]): void {
    for (const entry of entries) if (isRecord(entry)) this.#readPart(partOf(entry), events)
  }

  /** Something other than a call goes on: what is complete ends. */
  settle(events: UpstreamEvent[]): void {
    if (this.#running === 0) return
    for (const call of this.#calls) if (call.state === 'open' && call.depth.isComplete) this.#close(call, events)
  }

  /** Nothing more comes: calls that still wait for an id start without. */
  finish(events: UpstreamEvent[]): void {
    for (const call of this.#calls) if (call.state === 'held' && call.name !== '') this.#start(call, events)
  }

  #readPart(part: Part, events: UpstreamEvent[]): void {
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

  #addArguments(call: ToolCall, text: string, events: UpstreamEvent[]): void {
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

  #start(call: ToolCall, events: UpstreamEvent[]): void {
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

  #close(call: ToolCall, events: UpstreamEvent[]): void {
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

/** What Anthropic's clients accept as the id of a tool call. */
const plainId = /^[a-zA-Z0-9_-]{1,64}$/
/** Marks ids that hold another one, which has characters that Anthropic's clients do not accept. */
const wrapMark = 'callb64_'
/** OpenAI refuses longer ids of calls. */
const maxUpstreamLength = 40
/** Longer ids may well hide a provider's state, which does not belong into an id. */
const maxWrappedLength = 64

/** The id of a tool call as the client gets it: the upstream's own where it can be, else one made of it. */
function clientCallId(id: string): string {
  if (plainId.test(id) && !id.startsWith(wrapMark)) return id
  return id.length > maxWrappedLength ? shortened(id) : `${wrapMark}${Buffer.from(id).toString('base64url')}`
}

/** The id of a tool call as the upstream gets it back. Equal ids stay equal, so that results find their calls. */
export function upstreamCallId(id: string): string {
  const own = id.startsWith(wrapMark) ? Buffer.from(id.slice(wrapMark.length), 'base64url').toString() : id
  return own.length > maxUpstreamLength ? shortened(own) : own
}

/** An id for a call that came without one, or with one that another call of the answer has. */
export const madeCallId = (requestId: string, number: number): string => shortened(`${requestId}:${number}`)

const shortened = (text: string): string => `call_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`

const quote = 0x22
const backslash = 0x5c
const openingBracket = 0x5b
const closingBracket = 0x5d
const openingBrace = 0x7b
const closingBrace = 0x7d

/** Follows the JSON text of an object or array as it comes, only to know when its last bracket has closed. */
class JsonDepth {
  #depth = 0
  #hasBegun = false
  #isInText = false
  #isEscaped = false

  push(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#isInText) this.#inText(code)
      else this.#outside(code)
    }
  }

  /** True from the first bracket on. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Stays false for what is no object or array. */
  get isComplete(): boolean {
    return this.#hasBegun && this.#depth === 0
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === backslash) this.#isEscaped = true
    else if (code === quote) this.#isInText = false
  }

  #outside(code: number): void {
    if (code === quote) this.#isInText = true
    else if (code === openingBrace || code === openingBracket) {
      this.#depth++
      this.#hasBegun = true
    } else if (code === closingBrace || code === closingBracket) this.#depth--
  }
}
