import { openAiError } from '../../../contract/openai.ts'
import type { Attempt, EndpointKind, Lane, Outcome, Refusal, Sink } from '../core/call.ts'
import { errorInAnswer, isWholeJson } from '../passthrough/answers.ts'
import { RawRefusals } from '../passthrough/refusals.ts'
import { RawStream } from '../passthrough/stream.ts'
import type { Wire } from '../passthrough/wire.ts'
import {
  type AnswerHead,
  type AnswerReader,
  type AnswerStream,
  Exchange,
  type UpstreamHeaders,
  type WholeAnswer,
} from '../upstream/exchange.ts'
import { answeredWithFiles, openAiHeaders } from '../upstream/headers.ts'
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
  readonly holdBackMs: number
}

/**
 * The lane of an endpoint whose bytes pass through: JSON and event streams are relayed with their usage read on the side,
 * audio and text as they come.
 */
export function createEndpointLane({ kind, send, ...timing }: Options): Lane {
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
  readonly relays = answeredWithFiles
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
    if (isEvents || (attempt.ask.stream && head.headers['content-type'] === undefined)) return this.#events(head)
    return new ByteStream({ attempt, sink, head, counts: () => this.#counts })
  }

  whole(head: AnswerHead, body: Buffer): WholeAnswer | Refusal {
    const { attempt, kind } = this.#options
    const error = errorInAnswer(body)
    if (error) return this.#refusals.failedEarly(head, error)
    if (!isWholeJson(body)) return this.#refusals.unreadable(head, 'sent an answer that is no JSON')
    const counts = () => ({ stopReason: undefined, ...countsOf(attempt, kind, statedInAnswer(body)) })
    return { headers: head.headers, body, counts }
  }

  refusal(head: AnswerHead, body: Buffer): Refusal {
    return this.#refusals.passedOn(head, body)
  }

  #events(head: AnswerHead): AnswerStream {
    const stream = new RawStream({ ...this.#options, wire: this.#wire, head, refusals: this.#refusals, degraded: [] })
    const counted = <T extends Outcome | Refusal | undefined>(ending: T): T =>
      ending && ending.outcome !== 'refused' ? { ...ending, ...this.#countsAfter(ending) } : ending
    return {
      push: (controller, chunk) => counted(stream.push(controller, chunk)),
      finish: () => counted(stream.finish()),
      breakOff: error => counted(stream.breakOff(error)),
      abandoned: rest => counted(stream.abandoned(rest)),
      stop: () => stream.stop(),
    }
  }

  /** A stream without a stated usage is booked with what came, beside a guess of its input. */
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

  get #wire(): Wire {
    return { ...wireBase, createTap: () => this.#tap }
  }

  get #refusals(): RawRefusals {
    return new RawRefusals({ wire: this.#wire, attempt: this.#options.attempt, degraded: [] })
  }
}

const isJson = (type: string): boolean => /^application\/([\w.-]+\+)?json/i.test(type)

/** What the relay of event streams needs to know of OpenAI's format. */
const wireBase: Omit<Wire, 'createTap'> = {
  request: () => {
    throw new Error('the lane writes the request')
  },
  readAnswer: () => {
    throw new Error('the lane reads the answer')
  },
  declines: () => false,
  ping: Buffer.from(': ping\n\n'),
  failure: ({ code, message }) => Buffer.from(`data: ${JSON.stringify(openAiError(code, message))}\n\n`),
  errorBody: ({ code, message }) => Buffer.from(JSON.stringify(openAiError(code, message))),
}
