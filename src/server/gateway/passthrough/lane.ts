import type { Attempt, Lane, Refusal, Sink } from '../core/call.ts'
import { type Degradation, withDegradedHeader } from '../core/degradations.ts'
import {
  type AnswerHead,
  type AnswerReader,
  Exchange,
  type UpstreamHeaders,
  type WholeAnswer,
} from '../upstream/exchange.ts'
import type { Send } from '../upstream/send.ts'
import { errorInAnswer, isWholeJson } from './answers.ts'
import { RawRefusals } from './refusals.ts'
import { RawStream } from './stream.ts'
import { counted, type Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly send: Send
  /** Silence in a stream after which a ping goes out. */
  readonly pingAfterMs: number
  /** How long a stream without content is held back. */
  readonly holdBackMs: number
}

/**
 * The lane of upstreams that speak the client's own format. The received bytes go out, but for what the wire has to
 * change; the answer's bytes come back as they are. Source: Gateway, section 2.1.
 */
export function createRawLane({ wire, send, pingAfterMs, holdBackMs }: Options): Lane {
  return (given, sink) => {
    const { path, headers, body, degraded } = wire.request(given)
    const attempt = withDegradedHeader(given, degraded)
    const reader = new RawReader({ wire, attempt, sink, degraded, pingAfterMs, holdBackMs })
    return send({ attempt, exchange: new Exchange({ attempt, sink, reader }), path, headers, body })
  }
}

interface ReaderOptions {
  readonly wire: Wire
  readonly attempt: Attempt
  readonly sink: Sink
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
}

/** Passes an answer on as it came, and reads along for the ledger. */
class RawReader implements AnswerReader {
  readonly relays?: RegExp
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    if (options.wire.relays) this.relays = options.wire.relays
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
    if (attempt.hasPolicyFallback && wire.declines(body))
      return this.#refusals.declined(head, counted(wire, attempt, wire.readAnswer(body)).usage)
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
