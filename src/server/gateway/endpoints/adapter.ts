import { openAiError } from '../../../contract/openai.ts'
import type { Attempt, EndpointKind, FormatAdapter, Outcome, Sink, UpstreamError } from '../core/call.ts'
import { errorInAnswer, isWholeJson } from '../passthrough/answers.ts'
import type { PassthroughFormat } from '../passthrough/passthrough-format.ts'
import { PassthroughStream } from '../passthrough/stream.ts'
import { UpstreamErrors } from '../passthrough/upstream-errors.ts'
import {
  type AnswerHead,
  type AnswerReader,
  type AnswerStream,
  Exchange,
  type UpstreamHeaders,
  type WholeAnswer,
} from '../upstream/exchange.ts'
import { fileResponseHeaders, openAiHeaders } from '../upstream/headers.ts'
import type { Send } from '../upstream/send.ts'
import { countsOf, statedInAnswer } from './answer.ts'
import { ByteStream } from './byte-stream.ts'
import { bodyFor, formType } from './request.ts'
import { endpointPath } from './table.ts'
import { EndpointTap } from './tap.ts'

interface Options {
  readonly kind: EndpointKind
  readonly send: Send
  readonly pingAfterMs: number
  readonly bufferMs: number
}

/**
 * Passes an endpoint's bytes through. The usage of JSON and event streams is read for the ledger; audio and text are
 * relayed as they arrive.
 */
export function createEndpointAdapter({ kind, send, ...timing }: Options): FormatAdapter {
  return (attempt, sink) => {
    const type = formType(attempt.call, kind)
    const headers = { ...openAiHeaders(attempt.call), ...(type !== undefined && { 'content-type': type }) }
    const reader = new EndpointReader({ kind, attempt, sink, ...timing })
    const exchange = new Exchange({ attempt, sink, reader })
    return send({ attempt, exchange, path: endpointPath(kind, attempt.target), headers, body: bodyFor(attempt, kind) })
  }
}

interface ReaderOptions extends Omit<Options, 'send'> {
  readonly attempt: Attempt
  readonly sink: Sink
}

class EndpointReader implements AnswerReader {
  readonly relays = fileResponseHeaders
  readonly #options: ReaderOptions
  readonly #tap = new EndpointTap()

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  isStream({ 'content-type': type }: UpstreamHeaders): boolean {
    return !isJson(String(type ?? ''))
  }

  stream(head: AnswerHead): AnswerStream {
    const { attempt, sink } = this.#options
    const isEvents = head.headers['content-type']?.startsWith('text/event-stream') ?? false
    if (isEvents || (attempt.parsed.stream && head.headers['content-type'] === undefined)) return this.#events(head)
    return new ByteStream({ attempt, sink, head, counts: () => this.#counts })
  }

  whole(head: AnswerHead, body: Buffer): WholeAnswer | UpstreamError {
    const { attempt, kind } = this.#options
    const error = errorInAnswer(body)
    if (error) return this.#upstreamErrors.earlyFailure(head, error)
    if (!isWholeJson(body)) return this.#upstreamErrors.unusable(head, 'returned a response that is not valid JSON')
    const counts = () => ({ stopReason: undefined, ...countsOf(attempt, kind, statedInAnswer(body)) })
    return { headers: head.headers, body, counts }
  }

  upstreamError(head: AnswerHead, body: Buffer): UpstreamError {
    return this.#upstreamErrors.fromUpstream(head, body)
  }

  #events(head: AnswerHead): AnswerStream {
    const stream = new PassthroughStream({
      ...this.#options,
      format: this.#format,
      head,
      upstreamErrors: this.#upstreamErrors,
      degraded: [],
    })
    const counted = <T extends Outcome | UpstreamError | undefined>(ending: T): T =>
      ending && ending.outcome !== 'refused' ? { ...ending, ...this.#countsAfter(ending) } : ending
    return {
      push: (controller, chunk) => counted(stream.push(controller, chunk)),
      finish: () => counted(stream.finish()),
      interrupt: error => counted(stream.interrupt(error)),
      disconnected: rest => counted(stream.disconnected(rest)),
      stop: () => stream.stop(),
    }
  }

  /** Returns the counts of an ended stream: without reported usage the received output and an estimate of the input. */
  #countsAfter({ usage }: Outcome) {
    const { stated } = this.#tap
    const counts = this.#counts
    if (stated.usage) return counts
    const output_tokens = Math.max(usage.output_tokens, counts.usage.output_tokens)
    return { ...counts, usage: { ...counts.usage, output_tokens } }
  }

  get #counts() {
    return countsOf(this.#options.attempt, this.#options.kind, this.#tap.stated)
  }

  get #format(): PassthroughFormat {
    return { ...streamFormat, createTap: () => this.#tap }
  }

  get #upstreamErrors(): UpstreamErrors {
    return new UpstreamErrors({ format: this.#format, attempt: this.#options.attempt, degraded: [] })
  }
}

const isJson = (type: string): boolean => /^application\/([\w.-]+\+)?json/i.test(type)

/** The part of OpenAI's format that relaying event streams requires. */
const streamFormat: Omit<PassthroughFormat, 'createTap'> = {
  request: () => {
    throw new Error('not used: the adapter writes the request')
  },
  readAnswer: () => {
    throw new Error('not used: the adapter reads the response')
  },
  declines: () => false,
  ping: Buffer.from(': ping\n\n'),
  failure: ({ code, message }) => Buffer.from(`data: ${JSON.stringify(openAiError(code, message))}\n\n`),
  errorBody: ({ code, message }) => Buffer.from(JSON.stringify(openAiError(code, message))),
}
