import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { isRecord, type Json, jsonOr, listOf, recordOf, recordsOf, textIn, textOf } from '../../../platform/json.ts'
import { exactInputsOr, toolInputIn } from '../../bytes/exact-numbers.ts'
import type { BlockStart, Citation, StopReason, UpstreamEvent, UsageUpdate } from '../../core/answer-event.ts'
import type { StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { noTokens, type TokenCounts, tokenCount, withUsage } from '../../tokens/token-counts.ts'

const malformed: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'upstream sent a malformed response',
}

/** Returns the events of a whole message, equal to those of its stream. */
export function messageEvents(message: unknown): readonly UpstreamEvent[] {
  if (!isRecord(message)) return [malformed]
  if (isRecord(message['error'])) return [errorEvent(message['error'])]
  if (!Array.isArray(message['content'])) return [malformed]
  const decoder = new AnthropicDecoder()
  const { stop_reason, stop_sequence, usage } = message
  return [
    { type: 'message_start', message },
    ...listOf(message['content']).flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ].flatMap(event => decoder.take(event))
}

interface OpenBlock {
  readonly key: string
  readonly block: Json
  /** True for a block that is passed on only when complete, because no client format has deltas for it. */
  readonly isWhole: boolean
  json: string
}

const noEvents: readonly UpstreamEvent[] = []

/** Decoder of one streamed answer in Anthropic's format. */
export class AnthropicDecoder implements StreamDecoder {
  #counts: TokenCounts = noTokens
  #hasInput = false
  #open: OpenBlock | undefined
  #isOver = false

  push({ data }: Pick<UpstreamFrame, 'data'>): readonly UpstreamEvent[] {
    if (this.#isOver) return noEvents
    // Some upstreams send the whole input in block_start.
    const event = data.includes('_start"') ? exactInputsOr(data, undefined) : jsonOr(data, undefined)
    // After an invalid frame the rest of the stream is not reliable.
    return isRecord(event) ? this.take(event) : this.#fail(malformed)
  }

  end(): readonly UpstreamEvent[] {
    return noEvents
  }

  /** Handles a parsed event. */
  take(event: Json): readonly UpstreamEvent[] {
    if (this.#isOver) return noEvents
    switch (event['type']) {
      case 'content_block_delta':
        return this.#onDelta(recordOf(event['delta']))
      case 'message_start':
        return [this.#startOf(recordOf(event['message']))]
      case 'content_block_start':
        return this.#onBlock(String(event['index']), recordOf(event['content_block']))
      case 'content_block_stop':
        return this.#onBlockEnd()
      case 'message_delta':
        return this.#onMessageDelta(event)
      case 'message_stop':
        this.#isOver = true
        return [{ type: 'message_stop' }]
      case 'error':
        return this.#fail(errorEvent(recordOf(event['error'])))
      default:
        return noEvents
    }
  }

  #fail(error: UpstreamEvent): readonly UpstreamEvent[] {
    this.#isOver = true
    return [error]
  }

  #startOf({ id, model, usage }: Json): UpstreamEvent {
    // `output_tokens` of message_start is not a final count.
    const { output_tokens: _, ...stated } = this.#used(usage)
    return {
      type: 'message_start',
      ...(typeof id === 'string' && { id }),
      ...(typeof model === 'string' && { model }),
      usage: stated,
    }
  }

  #onBlock(key: string, block: Json): readonly UpstreamEvent[] {
    const start = startOf(block)
    this.#open = { key, block, isWhole: start === undefined, json: '' }
    if (!start) return noEvents
    // Usually empty in a stream; a whole message has its full text here.
    const text = textIn(block['text']) ?? textIn(block['thinking'])
    const signature = textIn(block['signature'])
    const events: UpstreamEvent[] = [{ type: 'block_start', key, block: start }]
    if (text) events.push({ type: 'block_delta', key, text })
    if (signature) events.push({ type: 'block_signature', key, signature })
    for (const own of recordsOf(block['citations'])) events.push(citationEvent(key, own))
    return events
  }

  #onDelta(delta: Json): readonly UpstreamEvent[] {
    const open = this.#open
    if (!open) return noEvents
    const { key } = open
    const json = textIn(delta['partial_json'])
    if (json !== undefined) open.json += json
    if (open.isWhole) return noEvents
    const text = textIn(delta['text']) ?? textIn(delta['thinking']) ?? json
    if (text) return [{ type: 'block_delta', key, text }]
    if (isRecord(delta['citation'])) return [citationEvent(key, delta['citation'])]
    const signature = textIn(delta['signature'])
    return signature ? [{ type: 'block_signature', key, signature }] : noEvents
  }

  #onBlockEnd(): readonly UpstreamEvent[] {
    const open = this.#open
    if (!open) return noEvents
    this.#open = undefined
    const { key, block, isWhole, json } = open
    // A `whole` block has no separate block_stop.
    if (isWhole) return [{ type: 'block_start', key, block: { type: 'whole', block: withInput(block, json) } }]
    const stop: UpstreamEvent = { type: 'block_stop', key }
    // A call without arguments has no deltas, and some upstreams send all arguments in block_start.
    return block['type'] === 'tool_use' && json.trim() === ''
      ? [{ type: 'block_delta', key, text: JSON.stringify(recordOf(block['input'])) }, stop]
      : [stop]
  }

  #onMessageDelta({ delta, usage }: Json): readonly UpstreamEvent[] {
    const events: UpstreamEvent[] = [{ type: 'usage', usage: this.#used(usage) }]
    const { stop_reason: reason, stop_sequence: sequence } = recordOf(delta)
    if (typeof reason === 'string')
      events.push({ type: 'stop', reason: stopReasonOf(reason), ...(typeof sequence === 'string' && { sequence }) })
    return events
  }

  /** Returns the totals that the upstream has stated so far. */
  #used(usage: unknown): UsageUpdate {
    if (!isRecord(usage)) return {}
    this.#counts = withUsage(this.#counts, usage)
    this.#hasInput ||= tokenCount(usage['input_tokens']) !== undefined
    const { estimated: _, input_tokens, output_tokens, ...others } = this.#counts
    return {
      ...others,
      ...(this.#hasInput && { input_tokens }),
      ...(tokenCount(usage['output_tokens']) !== undefined && { output_tokens }),
    }
  }
}

const citationEvent = (key: string, own: Json): UpstreamEvent => ({
  type: 'block_citation',
  key,
  citation: citationOf(own),
})

/** Converts a citation. The URL is in `url` for web pages and in `source` for the client's search results. */
function citationOf(own: Json): Citation {
  const url = [own['url'], own['source']].map(textOf).find(address => /^https?:/i.test(address))
  return { url, title: textOf(own['title']), own }
}

/** Returns the start of a block; undefined for a block that is passed on only when complete. */
function startOf({ type, id, name }: Json): BlockStart | undefined {
  if (type === 'text' || type === 'thinking') return { type }
  return type === 'tool_use' ? { type, id: String(id), name: String(name) } : undefined
}

/** Returns a complete block with the input from its deltas. */
function withInput(block: Json, json: string): Json & { readonly type: string } {
  const type = String(block['type'])
  const input = toolInputIn(json)
  // Without deltas, or with an input truncated by the token limit, the input of block_start remains.
  return input ? { ...block, type, input } : { ...block, type }
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

/** Converts an error in a stream or in a whole answer. */
const errorEvent = ({ type, message }: Json): UpstreamEvent => ({
  type: 'error',
  code: codes[String(type)] ?? 'upstream_unreachable',
  message: textIn(message) ?? 'upstream reported an error without a message',
})
