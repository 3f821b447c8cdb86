import assert from 'node:assert/strict'
import { sseReader } from '../../../src/contract/sse.ts'

type Fields = Record<string, unknown>

interface Usage {
  readonly [field: string]: unknown
}

/** The assembled content of a stream of chat completion chunks. */
export interface ReadChat {
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: unknown
  readonly usage: Usage | undefined
  /** The error that ended the stream, if one did. */
  readonly error: Fields | undefined
}

interface Chunk {
  readonly object?: string
  readonly id?: string
  readonly choices?: readonly { readonly delta: Fields; readonly finish_reason: unknown }[]
  readonly usage?: Usage | null
  readonly error?: Fields
}

/**
 * Reads chat completion chunks and asserts their grammar: the role first; calls begin with id and name and grow by
 * arguments; one finish, then usage, then [DONE]; or one error and nothing more.
 */
export function readChatStream(body: string): ReadChat {
  assert.ok(body.endsWith('\n\n'), 'the stream ends with a whole frame')
  const frames = [...sseReader()(body)].map(({ data, event }) => {
    assert.equal(event, undefined, 'chunks have no event line')
    return data
  })
  const reading = new ChatReading()
  for (const data of frames) reading.take(data)
  assert.ok(reading.isOver, 'the stream has its own end')
  const { text, thinking, calls, finish, usage, error } = reading
  return { text, thinking, calls, finish, usage, error }
}

class ChatReading {
  text = ''
  thinking = ''
  calls: { id: string; name: string; arguments: string }[] = []
  finish: unknown
  usage: Usage | undefined
  error: Fields | undefined
  isOver = false
  #id: string | undefined
  #hasRole = false

  take(data: string): void {
    assert.ok(!this.isOver, 'nothing comes after the end')
    if (data === '[DONE]') {
      assert.ok(this.finish, 'a finish reason comes before [DONE]')
      this.isOver = true
      return
    }
    const chunk = JSON.parse(data) as Chunk
    if (chunk.error) {
      assert.deepEqual(Object.keys(chunk.error), ['message', 'type', 'param', 'code'])
      this.error = chunk.error
      this.isOver = true
      return
    }
    assert.equal(chunk.object, 'chat.completion.chunk')
    this.#id ??= chunk.id
    assert.equal(chunk.id, this.#id, 'all chunks have one id')
    const [choice, ...others] = chunk.choices ?? []
    assert.equal(others.length, 0)
    if (!choice) this.#onUsage(chunk.usage)
    else this.#onDelta(choice.delta, choice.finish_reason)
  }

  #onUsage(usage: Usage | null | undefined): void {
    assert.ok(usage && this.finish && !this.usage, 'usage comes once, behind the finish')
    this.usage = usage
  }

  #onDelta(delta: Fields, finish: unknown): void {
    assert.equal(this.finish, undefined, 'no delta comes behind the finish')
    assert.equal('role' in delta, !this.#hasRole, 'the role comes first, once')
    this.#hasRole = true
    if (finish !== null) this.finish = finish
    this.text += String(delta['content'] ?? '')
    this.thinking += String(delta['reasoning_content'] ?? '')
    for (const call of (delta['tool_calls'] ?? []) as Fields[]) this.#onCall(call)
  }

  #onCall({ index, id, type, function: called }: Fields): void {
    const { name, arguments: more } = called as Fields
    if (id !== undefined) {
      assert.deepEqual([index, type], [this.calls.length, 'function'], 'indices of calls count up from 0')
      this.calls.push({ id: String(id), name: String(name), arguments: '' })
    }
    const call = this.calls[Number(index)]
    assert.ok(call && index === this.calls.length - 1, 'arguments belong to the call that began last')
    call.arguments += String(more)
  }
}

/** The assembled content of a Responses stream, from its deltas. */
export interface ReadResponse {
  /** The items as their last events showed them. */
  readonly output: readonly Fields[]
  /** What the deltas brought, by item id. */
  readonly deltas: ReadonlyMap<string, string>
  /** The response that the last event holds. */
  readonly response: Fields
  readonly types: readonly string[]
}

/**
 * Reads the events of a Responses stream and asserts their grammar: numbers count up from 0; created and in_progress
 * first; one item open at a time, whose parts open and close in turn; one terminal event with the whole output.
 */
export function readResponseStream(body: string): ReadResponse {
  assert.ok(body.endsWith('\n\n'), 'the stream ends with a whole frame')
  const events = [...sseReader()(body)].map(({ event, data }) => {
    const parsed = JSON.parse(data) as Fields
    assert.equal(event, parsed['type'], 'the event line and the type agree')
    return parsed
  })
  const types = events.map(({ type }) => String(type))
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, at) => at),
  )
  assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress'])
  const last = events.at(-1) ?? {}
  assert.match(String(last['type']), /^response\.(completed|incomplete|failed)$/)
  const response = last['response'] as Fields
  assert.equal(last['type'], `response.${String(response['status'])}`)
  const reading = new ResponseReading()
  for (const event of events.slice(2, -1)) reading.take(event)
  if (last['type'] !== 'response.failed') assert.equal(reading.open, undefined, 'every item is closed')
  assert.deepEqual(response['output'], reading.output, 'the last event holds all items')
  return { output: reading.output, deltas: reading.deltas, response, types }
}

class ResponseReading {
  output: Fields[] = []
  deltas = new Map<string, string>()
  open: string | undefined
  #part: string | undefined

  take(event: Fields): void {
    const type = String(event['type'])
    assert.equal(event['output_index'], this.output.length, `${type} is about the open item`)
    if (type === 'response.output_item.added') this.#onAdded(event['item'] as Fields)
    else if (type === 'response.output_item.done') this.#onDone(event['item'] as Fields)
    else this.#onPart(type, event)
  }

  #onAdded({ id }: Fields): void {
    assert.equal(this.open, undefined, 'one item is open at a time')
    assert.ok(!this.output.some(item => item['id'] === id), 'ids of items differ')
    this.open = String(id)
  }

  #onDone(item: Fields): void {
    assert.equal(item['id'], this.open, 'the open item is closed')
    assert.equal(this.#part, undefined, 'its parts are closed')
    this.open = undefined
    this.output.push(item)
  }

  #onPart(type: string, event: Fields): void {
    const id = String(event['item_id'])
    assert.equal(id, this.open, `${type} belongs to the open item`)
    if (type.endsWith('part.added')) {
      assert.equal(this.#part, undefined)
      this.#part = type.replace('.added', '')
    } else if (type.endsWith('part.done')) {
      assert.equal(this.#part, type.replace('.done', ''))
      this.#part = undefined
    } else if (type.endsWith('.delta')) {
      if (type.includes('_text')) assert.ok(this.#part, `${type} is inside a part`)
      this.deltas.set(id, (this.deltas.get(id) ?? '') + String(event['delta']))
    } else this.#onWhole(type, event)
  }

  #onWhole(type: string, event: Fields): void {
    const whole = event['text'] ?? event['arguments'] ?? event['input']
    assert.equal(whole, this.deltas.get(this.open ?? '') ?? '', `${type} holds what the deltas brought`)
  }
}
