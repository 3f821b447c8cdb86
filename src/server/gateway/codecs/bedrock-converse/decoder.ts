import { isRecord, type Json, jsonOr, recordOf } from '../../../platform/json.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { bedrockMessage, codeOfException } from '../../upstream/bedrock-errors.ts'
import { AnswerBlocks } from './answer-blocks.ts'
import { stopEvents } from './stop-reason.ts'
import { usageOf } from './usage.ts'

/** Reads the events of ConverseStream. The answer is complete with its `metadata`, which follows the `messageStop`. */
export class ConverseDecoder implements StreamDecoder {
  readonly #blocks: AnswerBlocks
  #hasStarted = false
  #isStopped = false
  #isOver = false

  constructor(context: CodecContext) {
    this.#blocks = new AnswerBlocks(context)
  }

  push({ event, data }: UpstreamFrame): readonly ModelEvent[] {
    const payload = jsonOr(data, undefined)
    if (isRecord(payload)) return this.take(event ?? '', payload)
    // An exception may come without any words.
    return isException(event ?? '') ? this.take(event ?? '', {}) : this.#fail('sent an event that is no JSON')
  }

  /** The same with a parsed payload. */
  take(event: string, payload: Json): readonly ModelEvent[] {
    if (this.#isOver) return []
    if (event === 'metadata') return this.#finish(payload)
    if (isException(event)) return this.#except(event, payload)
    return this.#isStopped ? [] : this.#content(event, payload)
  }

  #content(event: string, payload: Json): readonly ModelEvent[] {
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
        // Kinds that we do not know hold nothing that a client would miss.
        return []
    }
  }

  #start(): readonly ModelEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    return [{ type: 'message_start' }]
  }

  end(): readonly ModelEvent[] {
    if (this.#isOver || !this.#isStopped) return []
    this.#isOver = true
    return [{ type: 'message_stop' }]
  }

  #stop(payload: Json): readonly ModelEvent[] {
    this.#isStopped = true
    const events = [...this.#blocks.close(), ...stopEvents(payload)]
    this.#isOver = events.some(({ type }) => type === 'error')
    return events
  }

  #finish({ usage }: Json): readonly ModelEvent[] {
    const found = usageOf(usage)
    const events: readonly ModelEvent[] = found ? [{ type: 'usage', usage: found }] : []
    // Should it ever come early, the end still has to be said.
    if (!this.#isStopped) return events
    this.#isOver = true
    return [...events, { type: 'message_stop' }]
  }

  #except(event: string, payload: Json): readonly ModelEvent[] {
    this.#isOver = true
    return [
      { type: 'error', code: codeOfException(event), message: bedrockMessage(payload) ?? `Amazon Bedrock: ${event}` },
    ]
  }

  #fail(fault: string): readonly ModelEvent[] {
    if (this.#isOver) return []
    this.#isOver = true
    return [{ type: 'error', code: 'upstream_unreachable', message: `the upstream ${fault}` }]
  }
}

const isException = (event: string): boolean => /(exception|error|failure)$/i.test(event)
