import type { ErrorCode } from '../../../../contract/errors.ts'
import { sseReader } from '../../../../contract/sse.ts'
import { isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import type { AnswerEvent, StopReason } from '../../core/answer-event.ts'
import { noTokens, type TokenCounts, withUsage } from '../../tokens/token-counts.ts'

/** Reads an answer in Anthropic's format from its bytes, which may be cut anywhere. Never throws. */
export interface PivotReader {
  push(chunk: Buffer): readonly AnswerEvent[]
  /** The bytes have ended. An answer that did not end by itself ends in an error now. */
  end(): readonly AnswerEvent[]
}

const cutShort: AnswerEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream ended the answer before it was complete',
}
const unreadable: AnswerEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent an answer that cannot be read',
}

/** Reads a streamed answer. */
export function createStreamReader(): PivotReader {
  const decoder = new TextDecoder()
  const frames = sseReader()
  const message = new MessageReading()
  return {
    push(chunk) {
      const events: AnswerEvent[] = []
      try {
        for (const { data } of frames(decoder.decode(chunk, { stream: true }))) events.push(...message.take(data))
      } catch {
        // A line too long, or a frame that is no JSON: nothing behind it can be trusted.
        events.push(...message.fail(unreadable))
      }
      return events
    },
    end: () => message.fail(cutShort),
  }
}

/** Reads the body of an answer that is not streamed. */
export function createBodyReader(): PivotReader {
  const chunks: Buffer[] = []
  return {
    push(chunk) {
      chunks.push(chunk)
      return []
    },
    end() {
      try {
        const message: unknown = JSON.parse(Buffer.concat(chunks).toString())
        return isRecord(message) && Array.isArray(message['content']) ? [...eventsOfMessage(message)] : [unreadable]
      } catch {
        return [unreadable]
      }
    },
  }
}

/** The events that say a whole message, as its stream would have. */
function* eventsOfMessage(message: Json): Generator<AnswerEvent> {
  const reading = new MessageReading()
  const content = message['content'] as readonly unknown[]
  const { stop_reason, stop_sequence, usage } = message
  yield* reading.onEvent({ type: 'message_start', message })
  for (const [index, content_block] of content.entries()) {
    yield* reading.onEvent({ type: 'content_block_start', index, content_block })
    yield* reading.onEvent({ type: 'content_block_stop', index })
  }
  yield* reading.onEvent({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage })
  yield* reading.onEvent({ type: 'message_stop' })
}

interface OpenBlock {
  readonly key: string
  readonly block: Json
  /** A block that goes on only as a whole: no client's format has its pieces. */
  readonly isWhole: boolean
  json: string
}

/** What was read of one message so far. */
class MessageReading {
  #usage: TokenCounts = noTokens
  #open: OpenBlock | undefined
  #isOver = false

  fail(error: AnswerEvent): readonly AnswerEvent[] {
    if (this.#isOver) return []
    this.#isOver = true
    return [error]
  }

  *take(data: string): Generator<AnswerEvent> {
    const event: unknown = JSON.parse(data)
    if (isRecord(event)) yield* this.onEvent(event)
  }

  *onEvent(event: Json): Generator<AnswerEvent> {
    if (this.#isOver) return
    switch (event['type']) {
      case 'message_start':
        yield* this.#onStart(recordOf(event['message']))
        break
      case 'content_block_start':
        yield* this.#onBlock(String(event['index']), recordOf(event['content_block']))
        break
      case 'content_block_delta':
        yield* this.#onDelta(recordOf(event['delta']))
        break
      case 'content_block_stop':
        yield* this.#onBlockEnd()
        break
      case 'message_delta':
        yield* this.#onMessageDelta(event)
        break
      case 'message_stop':
        this.#isOver = true
        yield { type: 'message_stop' }
        break
      case 'ping':
        yield { type: 'ping' }
        break
      case 'error':
        yield* this.fail(errorEvent(recordOf(event['error'])))
    }
  }

  *#onStart({ model, usage }: Json): Generator<AnswerEvent> {
    yield { type: 'message_start', model: textIn(model) }
    yield this.#used(usage)
  }

  *#onBlock(key: string, block: Json): Generator<AnswerEvent> {
    const start = startOf(block)
    this.#open = { key, block, isWhole: start === undefined, json: '' }
    if (!start) return
    yield { type: 'block_start', key, block: start }
    // Empty in nearly every stream; a whole message has all of it here.
    const text = textIn(block['text']) ?? textIn(block['thinking'])
    if (text) yield { type: 'block_delta', key, text }
    const signature = textIn(block['signature'])
    if (signature) yield { type: 'block_signature', key, signature }
  }

  *#onDelta(delta: Json): Generator<AnswerEvent> {
    const open = this.#open
    if (!open) return
    const { key } = open
    const json = textIn(delta['partial_json'])
    if (json !== undefined) open.json += json
    const text = textIn(delta['text']) ?? textIn(delta['thinking']) ?? json
    const signature = textIn(delta['signature'])
    if (open.isWhole) return
    if (text) yield { type: 'block_delta', key, text }
    if (signature) yield { type: 'block_signature', key, signature }
  }

  *#onBlockEnd(): Generator<AnswerEvent> {
    const open = this.#open
    if (!open) return
    this.#open = undefined
    const { key, block, isWhole, json } = open
    if (isWhole) yield { type: 'block_start', key, block: { type: 'whole', block: filled(block, json) } }
    // A call without arguments streams none, and some upstreams put all of them into the start.
    else if (block['type'] === 'tool_use' && json.trim() === '')
      yield { type: 'block_delta', key, text: JSON.stringify(recordOf(block['input'])) }
    yield { type: 'block_stop', key }
  }

  *#onMessageDelta({ delta, usage }: Json): Generator<AnswerEvent> {
    yield this.#used(usage)
    const { stop_reason: reason, stop_sequence: sequence } = recordOf(delta)
    if (typeof reason !== 'string') return
    yield { type: 'stop', reason: stopReasonOf(reason), ...(typeof sequence === 'string' && { sequence }) }
  }

  #used(usage: unknown): AnswerEvent {
    this.#usage = withUsage(this.#usage, usage)
    return { type: 'usage', usage: this.#usage }
  }
}

type Start = Extract<AnswerEvent, { readonly type: 'block_start' }>['block']

/** Undefined for a block that goes on only as a whole. */
function startOf({ type, id, name }: Json): Start | undefined {
  if (type === 'text' || type === 'thinking') return { type }
  return type === 'tool_use' ? { type, id: String(id), name: String(name) } : undefined
}

/** A whole block with the input that its deltas brought. */
function filled(block: Json, json: string): Json & { readonly type: string } {
  const type = String(block['type'])
  if (json.trim() === '') return { ...block, type }
  try {
    return { ...block, type, input: JSON.parse(json) }
  } catch {
    // Cut off by the limit of tokens: what is there already will do.
    return { ...block, type }
  }
}

const stopReasons: ReadonlySet<string> = new Set<StopReason>([
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
])

function stopReasonOf(reason: string): StopReason {
  if (reason === 'model_context_window_exceeded') return 'max_tokens'
  return stopReasons.has(reason) ? (reason as StopReason) : 'end_turn'
}

const codes: Readonly<Record<string, ErrorCode>> = {
  invalid_request_error: 'invalid_request',
  billing_error: 'budget_exceeded',
  permission_error: 'forbidden',
  not_found_error: 'not_found',
  request_too_large: 'payload_too_large',
  rate_limit_error: 'rate_limited',
  timeout_error: 'upstream_timeout',
  overloaded_error: 'overloaded',
}

const errorEvent = ({ type, message }: Json): AnswerEvent => ({
  type: 'error',
  code: codes[String(type)] ?? 'upstream_unreachable',
  message: textIn(message) ?? 'the upstream failed',
})
