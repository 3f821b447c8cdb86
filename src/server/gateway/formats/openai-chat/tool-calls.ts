import { createHash } from 'node:crypto'
import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { toolInputIn } from '../../bytes/exact-numbers.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { storeCallSignature } from '../shared/call-signatures.ts'

interface ToolCall {
  readonly key: string
  readonly number: number
  id: string
  name: string
  /** Arguments received before block_start. */
  buffered: string
  readonly depth: JsonDepth
  /** True for arguments in a JSON string, as some models write them. They are passed on when complete. */
  isQuoted: boolean
  state: 'pending' | 'open' | 'closed'
  /** Gemini's signature of the call, which the next request must contain. */
  signature: string
  /** The client's id; undefined until the call has started. */
  clientId: string | undefined
}

/** Fields of one entry of `tool_calls`. */
interface Part {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly signature: string
}

/** A call gets a generated id if its own has not arrived within so many characters of its arguments. */
const maxBufferedLength = 1024

type Context = Pick<CodecContext, 'requestId' | 'callSignatures' | 'deployment' | 'upstreamModel'>

/**
 * Tool calls of one streamed answer. Id and name may come late, once or in every part; parts of calls may be
 * interleaved. A call ends when its JSON is complete and another block continues, so that the next call is not delayed.
 */
export class ToolCalls {
  readonly #context: Context
  readonly #calls: ToolCall[] = []
  readonly #byIndex = new Map<number, ToolCall>()
  readonly #byId = new Map<string, ToolCall>()
  /** Open calls whose JSON is complete. */
  readonly #complete = new Set<ToolCall>()
  readonly #givenIds = new Set<string>()
  #openCount = 0

  constructor(context: Context) {
    this.#context = context
  }

  /** True once a call has started. */
  get hasStarted(): boolean {
    return this.#givenIds.size > 0
  }

  /** True if a call has arguments but no name. It cannot be executed. */
  get lacksName(): boolean {
    return this.#calls.some(({ name, buffered }) => name === '' && buffered.trim() !== '')
  }

  read(entries: readonly unknown[], events: UpstreamEvent[]): void {
    for (const entry of entries) if (isRecord(entry)) this.#readPart(partOf(entry), events)
  }

  /** Ends the open calls whose JSON is complete. */
  endComplete(events: UpstreamEvent[]): void {
    for (const call of this.#complete) this.#close(call, events)
  }

  /** Ends the input. Calls that still have no id start with a generated one. */
  finish(events: UpstreamEvent[]): void {
    for (const call of this.#calls) {
      if (call.state === 'pending' && call.name !== '') this.#start(call, events)
      if (call.state === 'open' && call.isQuoted)
        events.push({ type: 'block_delta', key: call.key, text: unquoted(call) })
      call.isQuoted = false
    }
  }

  #readPart(part: Part, events: UpstreamEvent[]): void {
    const call = this.#callOf(part) ?? this.#addCall(part)
    if (call.id === '') this.#setId(call, part.id)
    if (call.name === '') call.name = part.name
    if (call.signature === '') call.signature = part.signature
    if (part.arguments !== '') this.#addArguments(call, part.arguments, events)
    if (call.state === 'pending' && canStart(call)) this.#start(call, events)
    if (call.state === 'open' && call.depth.isComplete) this.#complete.add(call)
    else this.#complete.delete(call)
    if (part.signature !== '') this.#storeSignature(call)
    if (this.#openCount > 1) this.endComplete(events)
  }

  /** Returns the call of a part. Some upstreams use index 0 for all calls, or no index; others repeat id and name. */
  #callOf(part: Part): ToolCall | undefined {
    const call = this.#findCall(part)
    return call && isAnother(call, part) ? undefined : call
  }

  #findCall({ index, id }: Part): ToolCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index)
    return id === '' ? this.#calls.at(-1) : this.#byId.get(id)
  }

  #setId(call: ToolCall, id: string): void {
    call.id = id
    if (id !== '' && !this.#byId.has(id)) this.#byId.set(id, call)
  }

  #addCall({ index }: Part): ToolCall {
    const number = this.#calls.length
    const call: ToolCall = {
      key: `call-${number}`,
      number,
      id: '',
      name: '',
      buffered: '',
      depth: new JsonDepth(),
      isQuoted: false,
      state: 'pending',
      signature: '',
      clientId: undefined,
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
    // Some upstreams send null instead of no arguments.
    if (!call.depth.hasBegun && text.trim() === 'null') return
    call.isQuoted ||= !call.depth.hasBegun && call.buffered === '' && text.trimStart().startsWith('"')
    if (!call.isQuoted) call.depth.push(text)
    if (call.state === 'open' && !call.isQuoted) events.push({ type: 'block_delta', key: call.key, text })
    else call.buffered += text
  }

  #start(call: ToolCall, events: UpstreamEvent[]): void {
    const { key, name, buffered } = call
    call.state = 'open'
    const id = this.#newId(call)
    call.clientId = id
    this.#openCount++
    events.push({ type: 'block_start', key, block: { type: 'tool_use', id, name } })
    if (call.isQuoted) return
    if (buffered !== '') events.push({ type: 'block_delta', key, text: buffered })
    call.buffered = ''
    this.#storeSignature(call)
  }

  #storeSignature({ signature, clientId }: ToolCall): void {
    if (signature !== '' && clientId !== undefined) storeCallSignature(this.#context, clientId, signature)
  }

  #newId({ id, number }: ToolCall): string {
    const own = id === '' ? '' : clientCallId(id)
    const given = own === '' || this.#givenIds.has(own) ? generatedCallId(this.#context.requestId, number) : own
    this.#givenIds.add(given)
    return given
  }

  #close(call: ToolCall, events: UpstreamEvent[]): void {
    call.state = 'closed'
    this.#complete.delete(call)
    this.#openCount--
    events.push({ type: 'block_stop', key: call.key })
  }
}

const canStart = ({ name, id, buffered, depth }: ToolCall): boolean =>
  name !== '' && (id !== '' || depth.isComplete || buffered.length > maxBufferedLength)

/** Returns true if `part` begins a new call, although its index or position is that of `call`. */
function isAnother(call: ToolCall, { id, name, arguments: text }: Part): boolean {
  if (name === '' || call.name === '' || (id !== '' && id === call.id)) return false
  const isComplete = call.depth.isComplete
  return id !== '' && call.id !== '' ? isComplete || name !== call.name : isComplete && text.trim() !== ''
}

/** Returns the object in quoted arguments; the arguments unchanged if they contain none. */
function unquoted({ buffered }: ToolCall): string {
  const input = toolInputIn(buffered)
  return input ? JSON.stringify(input) : buffered
}

function partOf(entry: Json): Part {
  const called = recordOf(entry['function'])
  const index = entry['index']
  return {
    index: typeof index === 'number' ? index : undefined,
    id: textOf(entry['id']),
    name: textOf(called['name']),
    arguments: argumentsOf(called['arguments']),
    signature: textOf(recordOf(recordOf(entry['extra_content'])['google'])['thought_signature']),
  }
}

/** Returns the arguments as JSON text. Some upstreams send an object. */
const argumentsOf = (value: unknown): string => (isRecord(value) ? JSON.stringify(value) : textOf(value))

/** Ids of tool calls that Anthropic's clients accept. */
const plainId = /^[a-zA-Z0-9_-]{1,64}$/
/** Prefix of ids that contain an encoded id with characters that Anthropic's clients reject. */
const encodedPrefix = 'callb64_'
/** Maximum length of call ids at OpenAI. */
const maxUpstreamLength = 40
/** Maximum length of an encoded id. Longer ids usually contain a provider's state, and are hashed. */
const maxEncodedLength = 64

/** Returns the client's id for an upstream's id: the same one if clients accept it, else an encoded or hashed one. */
function clientCallId(id: string): string {
  if (plainId.test(id) && !id.startsWith(encodedPrefix)) return id
  return id.length > maxEncodedLength ? hashedId(id) : `${encodedPrefix}${Buffer.from(id).toString('base64url')}`
}

/** Returns the upstream's id for a client's id. Equal ids give equal results, so that results match their calls. */
export function upstreamCallId(id: string): string {
  const own = id.startsWith(encodedPrefix) ? Buffer.from(id.slice(encodedPrefix.length), 'base64url').toString() : id
  return own.length > maxUpstreamLength ? hashedId(own) : own
}

/** Generates an id for a call without one, or with a duplicate one. */
export const generatedCallId = (requestId: string, number: number): string => hashedId(`${requestId}:${number}`)

const hashedId = (text: string): string => `call_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`

const quote = 0x22
const backslash = 0x5c
const openingBracket = 0x5b
const closingBracket = 0x5d
const openingBrace = 0x7b
const closingBrace = 0x7d

/** Detects the end of a streamed JSON object or array by counting brackets. */
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

  /** True after the first bracket. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** True after the last bracket. Always false for values other than objects and arrays. */
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
