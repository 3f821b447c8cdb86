import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../../platform/json.ts'
import type { StopReason, UpstreamEvent, UsageUpdate } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { tokenCount } from '../../tokens/token-counts.ts'
import { bedrockMessage, codeOfException } from '../../upstream/bedrock.ts'
import { AnswerBlocks } from './read-blocks.ts'

interface Piece {
  readonly event: string
  readonly payload: Json
}

/** Returns the events of a whole answer of Converse. It is converted to a stream first. */
export function answerEvents(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  const message = recordOf(recordOf(body)['output'])['message']
  if (!isRecord(body) || !isRecord(message)) return [noMessage]
  const blocks: readonly unknown[] = Array.isArray(message['content']) ? message['content'] : []
  const { stopReason, additionalModelResponseFields, usage } = body
  const pieces: readonly Piece[] = [
    { event: 'messageStart', payload: {} },
    ...blocks.flatMap((block, index) => piecesOf(recordOf(block), index)),
    { event: 'messageStop', payload: { stopReason, additionalModelResponseFields } },
    { event: 'metadata', payload: { usage } },
  ]
  const decoder = new ConverseDecoder(context)
  return pieces.flatMap(({ event, payload }) => decoder.take(event, payload))
}

const noMessage: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'upstream response contains no message',
}

function piecesOf(block: Json, contentBlockIndex: number): readonly Piece[] {
  const deltas = deltasOf(block)
  const call = block['toolUse']
  const start: readonly Piece[] = isRecord(call)
    ? [{ event: 'contentBlockStart', payload: { contentBlockIndex, start: { toolUse: call } } }]
    : []
  return [
    ...start,
    ...deltas.map(delta => ({ event: 'contentBlockDelta', payload: { contentBlockIndex, delta } })),
    { event: 'contentBlockStop', payload: { contentBlockIndex } },
  ]
}

function deltasOf(block: Json): readonly Json[] {
  const { toolUse, reasoningContent, citationsContent } = block
  if (isRecord(toolUse)) return [{ toolUse: { input: JSON.stringify(toolUse['input'] ?? {}) } }]
  if (isRecord(reasoningContent)) return reasoningDeltas(reasoningContent)
  if (isRecord(citationsContent)) return [{ text: citedText(citationsContent) }, { citation: {} }]
  return [block]
}

function reasoningDeltas({ reasoningText, redactedContent }: Json): readonly Json[] {
  if (!isRecord(reasoningText)) return [{ reasoningContent: { redactedContent } }]
  const { text, signature } = reasoningText
  return [{ reasoningContent: { text } }, { reasoningContent: { signature } }]
}

const citedText = ({ content }: Json): string =>
  (Array.isArray(content) ? content : []).map(part => textOf(recordOf(part)['text'])).join('')

/** Decoder of ConverseStream. The answer ends with `metadata`, which follows `messageStop`. */
export class ConverseDecoder implements StreamDecoder {
  readonly #blocks: AnswerBlocks
  #hasStarted = false
  #isStopped = false
  #isOver = false

  constructor(context: CodecContext) {
    this.#blocks = new AnswerBlocks(context)
  }

  push({ event, data }: UpstreamFrame): readonly UpstreamEvent[] {
    const payload = jsonOr(data, undefined)
    if (isRecord(payload)) return this.take(event ?? '', payload)
    // An exception may have no payload.
    return isException(event ?? '')
      ? this.take(event ?? '', {})
      : this.#fail('upstream sent an event that is not a JSON object')
  }

  /** Handles an event with a parsed payload. */
  take(event: string, payload: Json): readonly UpstreamEvent[] {
    if (this.#isOver) return []
    if (event === 'metadata') return this.#finish(payload)
    if (isException(event)) return this.#onException(event, payload)
    return this.#isStopped ? [] : this.#content(event, payload)
  }

  #content(event: string, payload: Json): readonly UpstreamEvent[] {
    const index = Number(payload['contentBlockIndex'] ?? 0)
    switch (event) {
      case 'messageStart':
        return this.#start()
      case 'contentBlockStart':
        return this.#blocks.start(index, recordOf(payload['start']))
      case 'contentBlockDelta':
        return this.#blocks.delta(index, recordOf(payload['delta']))
      case 'contentBlockStop':
        return this.#blocks.stop(index)
      case 'messageStop':
        return this.#stop(payload)
      default:
        // Unknown events have no equivalent for clients.
        return []
    }
  }

  #start(): readonly UpstreamEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    return [{ type: 'message_start' }]
  }

  end(): readonly UpstreamEvent[] {
    if (this.#isOver || !this.#isStopped) return []
    this.#isOver = true
    return [{ type: 'message_stop' }]
  }

  #stop(payload: Json): readonly UpstreamEvent[] {
    this.#isStopped = true
    const events = [...this.#blocks.close(), ...stopEvents(payload)]
    this.#isOver = events.some(({ type }) => type === 'error')
    return events
  }

  #finish({ usage }: Json): readonly UpstreamEvent[] {
    const found = converseUsage(usage)
    const events: readonly UpstreamEvent[] = found ? [{ type: 'usage', usage: found }] : []
    // `metadata` before `messageStop` does not end the answer.
    if (!this.#isStopped) return events
    this.#isOver = true
    return [...events, { type: 'message_stop' }]
  }

  #onException(event: string, payload: Json): readonly UpstreamEvent[] {
    this.#isOver = true
    return [
      { type: 'error', code: codeOfException(event), message: bedrockMessage(payload) ?? `Amazon Bedrock: ${event}` },
    ]
  }

  #fail(fault: string): readonly UpstreamEvent[] {
    if (this.#isOver) return []
    this.#isOver = true
    return [{ type: 'error', code: 'upstream_unreachable', message: fault }]
  }
}

const isException = (event: string): boolean => /(exception|error|failure)$/i.test(event)

/** Converts usage. `inputTokens` excludes cached tokens, as in Anthropic's format. Undefined without usage. */
export function converseUsage(usage: unknown): UsageUpdate | undefined {
  if (!isRecord(usage)) return undefined
  const input = tokenCount(usage['inputTokens'])
  const output = tokenCount(usage['outputTokens'])
  const read = tokenCount(usage['cacheReadInputTokens'])
  const written = tokenCount(usage['cacheWriteInputTokens'])
  const hourTokens = hourWrites(usage['cacheDetails'])
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(read !== undefined && { cache_read_tokens: read }),
    ...(written !== undefined && {
      cache_write_5m_tokens: Math.max(0, written - hourTokens),
      cache_write_1h_tokens: hourTokens,
    }),
    ...(output !== undefined && { output_tokens: output }),
  }
}

/** Returns the tokens written to the cache for 1 hour. The other writes last 5 minutes. */
function hourWrites(details: unknown): number {
  const entries: readonly unknown[] = Array.isArray(details) ? details : []
  return entries.reduce((sum: number, entry) => {
    const isHour = isRecord(entry) && (entry['ttl'] === '1h' || entry['ttl'] === 'T1H')
    return isHour ? sum + (tokenCount(entry['inputTokens']) ?? 0) : sum
  }, 0)
}

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'end_turn',
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'refusal',
  content_filtered: 'refusal',
  refusal: 'refusal',
  pause_turn: 'pause_turn',
  model_context_window_exceeded: 'max_tokens',
}

/** Converts a `messageStop`. A malformed answer of the model becomes an error. */
function stopEvents({ stopReason, additionalModelResponseFields: fields }: Json): readonly UpstreamEvent[] {
  const stated = typeof stopReason === 'string' ? stopReason : ''
  if (stated.startsWith('malformed_'))
    return [{ type: 'error', code: 'upstream_unreachable', message: `model produced an invalid response: ${stated}` }]
  const reason = Object.hasOwn(reasons, stated) ? reasons[stated] : undefined
  const sequence = stopSequence(fields)
  const stop: UpstreamEvent = {
    type: 'stop',
    reason: reason ?? 'end_turn',
    ...(reason === 'stop_sequence' && sequence !== undefined && { sequence }),
  }
  const isExact = reason !== undefined && stated !== 'model_context_window_exceeded'
  return isExact ? [stop] : [stop, { type: 'degraded', path: 'stop_reason', action: stop.reason }]
}

/** Returns the matched stop sequence. Streams and whole answers have it in different fields. */
function stopSequence(fields: unknown): string | undefined {
  if (!isRecord(fields)) return undefined
  const { stop_sequence: own, delta } = fields
  const found = own ?? (isRecord(delta) ? delta['stop_sequence'] : undefined)
  return typeof found === 'string' ? found : undefined
}
