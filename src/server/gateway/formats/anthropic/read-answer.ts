import type { ErrorCode } from '../../../../contract/errors.ts'
import { isRecord, type Json, jsonOr, listOf, recordOf, recordsOf, textIn, textOf } from '../../../platform/json.ts'
import type { BlockStart, Citation, StopReason, UpstreamEvent, UsageUpdate } from '../../core/answer-event.ts'
import type { StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { noTokens, type TokenCounts, tokenCount, withUsage } from '../../tokens/token-counts.ts'

const unreadable: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent an answer that cannot be read',
}

/** The events of a whole message, as its stream would have brought them. */
export function messageEvents(message: unknown): readonly UpstreamEvent[] {
  if (!isRecord(message)) return [unreadable]
  if (isRecord(message['error'])) return [errorEvent(message['error'])]
  if (!Array.isArray(message['content'])) return [unreadable]
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
  /** A block that goes on only as a whole: no client's format has its pieces. */
  readonly isWhole: boolean
  json: string
}

const nothing: readonly UpstreamEvent[] = []

/** Reads the stream of one answer in Anthropic's format. */
export class AnthropicDecoder implements StreamDecoder {
  #counts: TokenCounts = noTokens
  #hasInput = false
  #open: OpenBlock | undefined
  #isOver = false

  push({ data }: Pick<UpstreamFrame, 'data'>): readonly UpstreamEvent[] {
    if (this.#isOver) return nothing
    const event = jsonOr(data, undefined)
    // Nothing behind a frame that is no JSON can be trusted.
    return isRecord(event) ? this.take(event) : this.#fail(unreadable)
  }

  end(): readonly UpstreamEvent[] {
    return nothing
  }

  /** An event that is parsed already. */
  take(event: Json): readonly UpstreamEvent[] {
    if (this.#isOver) return nothing
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
        return nothing
    }
  }

  #fail(error: UpstreamEvent): readonly UpstreamEvent[] {
    this.#isOver = true
    return [error]
  }

  #startOf({ id, model, usage }: Json): UpstreamEvent {
    // The output of the start is no count yet.
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
    if (!start) return nothing
    // Empty in nearly every stream; a whole message has all of it here.
    const text = textIn(block['text']) ?? textIn(block['thinking'])
    const signature = textIn(block['signature'])
    const events: UpstreamEvent[] = [{ type: 'block_start', key, block: start }]
    if (text) events.push({ type: 'block_delta', key, text })
    if (signature) events.push({ type: 'block_signature', key, signature })
    for (const own of recordsOf(block['citations'])) events.push(cited(key, own))
    return events
  }

  #onDelta(delta: Json): readonly UpstreamEvent[] {
    const open = this.#open
    if (!open) return nothing
    const { key } = open
    const json = textIn(delta['partial_json'])
    if (json !== undefined) open.json += json
    if (open.isWhole) return nothing
    const text = textIn(delta['text']) ?? textIn(delta['thinking']) ?? json
    if (text) return [{ type: 'block_delta', key, text }]
    if (isRecord(delta['citation'])) return [cited(key, delta['citation'])]
    const signature = textIn(delta['signature'])
    return signature ? [{ type: 'block_signature', key, signature }] : nothing
  }

  #onBlockEnd(): readonly UpstreamEvent[] {
    const open = this.#open
    if (!open) return nothing
    this.#open = undefined
    const { key, block, isWhole, json } = open
    // The start of a whole block is its end as well.
    if (isWhole) return [{ type: 'block_start', key, block: { type: 'whole', block: filled(block, json) } }]
    const stop: UpstreamEvent = { type: 'block_stop', key }
    // A call without arguments streams none, and some upstreams put all of them into the start.
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

  /** All totals so far that were stated. */
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

const cited = (key: string, own: Json): UpstreamEvent => ({ type: 'block_citation', key, citation: citationOf(own) })

/** Pages are named by `url`, results of a client's own search by `source`, and documents by neither. */
function citationOf(own: Json): Citation {
  const url = [own['url'], own['source']].map(textOf).find(address => /^https?:/i.test(address))
  return { url, title: textOf(own['title']), own }
}

/** Undefined for a block that goes on only as a whole. */
function startOf({ type, id, name }: Json): BlockStart | undefined {
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

/** The error that an answer ends with, or that stands in its place. */
const errorEvent = ({ type, message }: Json): UpstreamEvent => ({
  type: 'error',
  code: codes[String(type)] ?? 'upstream_unreachable',
  message: textIn(message) ?? 'the upstream failed',
})
