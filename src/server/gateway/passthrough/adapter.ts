import type { Attempt, FormatAdapter, Sink, UpstreamError } from '../core/call.ts'
import { type Degradation, withDegradedHeader } from '../core/degradations.ts'
import {
  type AnswerHead,
  type AnswerReader,
  answered,
  Exchange,
  type UpstreamHeaders,
  type WholeAnswer,
} from '../upstream/exchange.ts'
import type { Send } from '../upstream/send.ts'
import { errorInAnswer, isWholeJson } from './answers.ts'
import { counted, type PassthroughFormat } from './passthrough-format.ts'
import { PassthroughStream } from './stream.ts'
import { UpstreamErrors } from './upstream-errors.ts'

interface Options {
  readonly format: PassthroughFormat
  readonly send: Send
  /** Milliseconds of silence in a stream after which a ping is sent. */
  readonly pingAfterMs: number
  /** Milliseconds for which a stream without content is buffered. */
  readonly bufferMs: number
}

/**
 * Passthrough to upstreams that speak the client's own format. The request is forwarded byte for byte, except for what
 * `format` has to change; the response is relayed byte for byte. Source: Gateway, section 2.1.
 */
export function createPassthrough({ format, send, pingAfterMs, bufferMs }: Options): FormatAdapter {
  return (given, sink) => {
    const { path, headers, body, degraded } = format.request(given)
    const attempt = withDegradedHeader(given, degraded)
    const reader = new PassthroughReader({ format, attempt, sink, degraded, pingAfterMs, bufferMs })
    const exchange = new Exchange({ attempt, sink, reader })
    const { batchAnswer } = attempt.call
    return batchAnswer ? answered(exchange, batchAnswer.body) : send({ attempt, exchange, path, headers, body })
  }
}

interface ReaderOptions {
  readonly format: PassthroughFormat
  readonly attempt: Attempt
  readonly sink: Sink
  /** What was removed from the request. */
  readonly degraded: readonly Degradation[]
  readonly pingAfterMs: number
  readonly bufferMs: number
}

/** Relays a response unchanged and reads its usage for the ledger. */
class PassthroughReader implements AnswerReader {
  readonly relays?: RegExp
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    if (options.format.relays) this.relays = options.format.relays
    this.#options = options
  }

  isStream({ 'content-type': given }: UpstreamHeaders): boolean {
    const { format, attempt } = this.#options
    const type = String(given ?? '').toLowerCase()
    if (type.startsWith(format.streamType ?? 'text/event-stream')) return true
    // Some servers send the wrong content type with a stream. Anything else fails within the hold-back window.
    return format.streamType === undefined && attempt.parsed.stream && !/json|html/.test(type)
  }

  stream(head: AnswerHead): PassthroughStream {
    return new PassthroughStream({ ...this.#options, head, upstreamErrors: this.#upstreamErrors })
  }

  whole(head: AnswerHead, body: Buffer): WholeAnswer | UpstreamError {
    const { format, attempt, degraded } = this.#options
    const error = errorInAnswer(body) ?? format.faultIn?.(body)
    if (error) return this.#upstreamErrors.earlyFailure(head, error)
    if (attempt.parsed.stream)
      return this.#upstreamErrors.unusable(head, 'did not stream its response to a streamed request')
    if (!isWholeJson(body)) return this.#upstreamErrors.unusable(head, 'returned a response that is not valid JSON')
    if (attempt.hasPolicyFallback && format.declines(body))
      return this.#upstreamErrors.declined(head, counted(format, attempt, format.readAnswer(body)).usage)
    const isCount = attempt.call.kind === 'count_tokens'
    return {
      headers: head.headers,
      body: (isCount && format.translateCount?.(body)) || format.translateAnswer?.(attempt.call, body) || body,
      counts: () => ({
        ...counted(format, attempt, format.readAnswer(body)),
        ...(degraded.length > 0 && { degraded }),
      }),
    }
  }

  upstreamError(head: AnswerHead, body: Buffer): UpstreamError {
    return this.#upstreamErrors.fromUpstream(head, body)
  }

  get #upstreamErrors(): UpstreamErrors {
    return new UpstreamErrors(this.#options)
  }
}
