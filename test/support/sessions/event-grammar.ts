import assert from 'node:assert/strict'
import { sseReader } from '../../../src/contract/sse.ts'

interface Event {
  readonly type: string
  readonly index?: number
  readonly message?: Record<string, unknown>
  readonly content_block?: Record<string, unknown>
  readonly delta?: Record<string, unknown>
  readonly usage?: Record<string, unknown>
  readonly error?: { readonly type: string; readonly message: string }
}

/** The assembled content of a stream. */
export interface ReadStream {
  readonly events: readonly Event[]
  /** The answer as a non-streamed call would give it, as far as it came. */
  readonly content: readonly Record<string, unknown>[]
  readonly text: string
  readonly stopReason: unknown
  readonly usage: Readonly<Record<string, unknown>>
  /** The error event that ended the stream, if one did. */
  readonly error: { readonly type: string; readonly message: string } | undefined
}

/**
 * Reads an answer's event stream and asserts the grammar of Anthropic's events: one start, first; one open block at a
 * time with rising indices; one end, and nothing after it. Unknown event types may occur anywhere.
 */
export function readStream(body: string): ReadStream {
  const events = [...sseReader()(body)].map(({ event, data }): Event => {
    const parsed = JSON.parse(data) as Event
    assert.equal(event, parsed.type, 'the event line and the type agree')
    return parsed
  })
  assert.ok(body.endsWith('\n\n') || body.endsWith('\n\r\n'), 'the stream ends with a whole frame')
  const reading = new Reading()
  for (const event of events) reading.take(event)
  assert.ok(reading.ended, 'the stream has its own end')
  const text = reading.content.map(block => (block['type'] === 'text' ? String(block['text']) : '')).join('')
  return {
    events,
    content: reading.content,
    text,
    stopReason: reading.stopReason,
    usage: reading.usage,
    error: reading.error,
  }
}

class Reading {
  content: Record<string, unknown>[] = []
  usage: Record<string, unknown> = {}
  stopReason: unknown
  error: ReadStream['error']
  ended = false
  #started = false
  #open: number | undefined
  #json = ''
  #hasDelta = false

  take(event: Event): void {
    assert.ok(!this.ended, `${event.type} comes after the end`)
    const isFirst = ['message_start', 'ping', 'error'].includes(event.type)
    assert.ok(this.#started || isFirst, `${event.type} comes before message_start`)
    this.#steps[event.type]?.(event)
  }

  readonly #steps: Readonly<Record<string, ((event: Event) => void) | undefined>> = {
    message_start: event => this.#onStart(event),
    content_block_start: event => this.#onBlock(event),
    content_block_delta: event => this.#onDelta(event),
    content_block_stop: event => this.#onBlockEnd(event),
    message_delta: event => this.#onMessageDelta(event),
    message_stop: () => this.#onEnd(),
    error: event => this.#onError(event),
  }

  #onEnd(): void {
    assert.ok(this.#hasDelta, 'message_delta comes before message_stop')
    this.ended = true
  }

  #onError({ error }: Event): void {
    assert.ok(error && typeof error.type === 'string' && typeof error.message === 'string', 'an error is complete')
    this.error = error
    this.ended = true
  }

  #onStart({ message = {} }: Event): void {
    assert.ok(!this.#started, 'there is one message_start')
    this.#started = true
    this.usage = { ...(message['usage'] as object) }
  }

  #onBlock({ index, content_block: block = {} }: Event): void {
    assert.equal(this.#open, undefined, 'one block is open at a time')
    assert.equal(index, this.content.length, 'indices count up from 0')
    this.#open = index
    this.#json = ''
    this.content.push({ ...block })
  }

  #onDelta({ index, delta = {} }: Event): void {
    assert.equal(index, this.#open, 'a delta belongs to the open block')
    const block = this.content[index ?? -1] ?? {}
    if (delta['type'] === 'input_json_delta') this.#json += String(delta['partial_json'])
    for (const field of ['text', 'thinking', 'signature']) {
      if (typeof delta[field] === 'string') block[field] = String(block[field] ?? '') + delta[field]
    }
  }

  #onBlockEnd({ index }: Event): void {
    assert.equal(index, this.#open, 'the open block is closed')
    const block = this.content[index ?? -1]
    if (block?.['type'] === 'tool_use') block['input'] = JSON.parse(this.#json || '{}')
    this.#open = undefined
  }

  #onMessageDelta({ delta = {}, usage = {} }: Event): void {
    assert.equal(this.#open, undefined, 'no block is open at message_delta')
    this.#hasDelta = true
    this.stopReason = delta['stop_reason']
    this.usage = { ...this.usage, ...usage }
  }
}
