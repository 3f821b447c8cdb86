import type { Attempt, Refusal, Sink } from '../call.ts'
import type { Degradation } from '../translated/degradations.ts'
import type { AnswerHead, AnswerReader, UpstreamHeaders, WholeAnswer } from '../upstream/exchange.ts'
import { errorInAnswer, isWholeJson } from './answer-checks.ts'
import { counted } from './counted.ts'
import { RawRefusals } from './raw-refusals.ts'
import { RawStream } from './raw-stream.ts'
import type { Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly attempt: Attempt
  readonly sink: Sink
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Passes an answer on as it came, and reads along for the ledger. */
export class RawReader implements AnswerReader {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  isStream({ 'content-type': given }: UpstreamHeaders): boolean {
    const { wire, attempt } = this.#options
    const type = String(given ?? '').toLowerCase()
    if (type.startsWith(wire.streamType ?? 'text/event-stream')) return true
    // Some servers name a stream wrongly. What is none in truth ends in the hold-back window.
    return wire.streamType === undefined && attempt.ask.stream && !/json|html/.test(type)
  }

  stream(head: AnswerHead): RawStream {
    return new RawStream({ ...this.#options, head, refusals: this.#refusals })
  }

  whole(head: AnswerHead, body: Buffer): WholeAnswer | Refusal {
    const { wire, attempt, degraded } = this.#options
    const error = errorInAnswer(body)
    if (error) return this.#refusals.failedEarly(head, error)
    if (attempt.ask.stream) return this.#refusals.unreadable(head, 'answered a streamed call with no stream')
    if (!isWholeJson(body)) return this.#refusals.unreadable(head, 'sent an answer that is no JSON')
    const isCount = attempt.call.kind === 'count_tokens'
    return {
      headers: head.headers,
      body: (isCount && wire.translateCount?.(body)) || body,
      counts: () => ({
        ...counted(wire, attempt, wire.readAnswer(body)),
        ...(degraded.length > 0 && { degraded }),
      }),
    }
  }

  refusal(head: AnswerHead, body: Buffer): Refusal {
    return this.#refusals.passedOn(head, body)
  }

  get #refusals(): RawRefusals {
    return new RawRefusals(this.#options)
  }
}
