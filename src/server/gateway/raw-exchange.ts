import type { Dispatcher } from 'undici'
import { AppError } from '../platform/errors.ts'
import { usageOfAnswer } from './answer-usage.ts'
import type { Attempt, Outcome, Refusal, Sink } from './call.ts'
import { relayedHeaders, streamHeaders } from './headers.ts'
import { scrubbed } from './scrub.ts'
import { createStreamRelay, type StreamRelay } from './stream-relay.ts'
import { noTokens } from './token-counts.ts'
import { upstreamFailure } from './upstream-failure.ts'

type Controller = Dispatcher.DispatchController
type UpstreamHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

const maxErrorBytes = 1024 * 1024
const maxAnswerBytes = 64 * 1024 * 1024

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/**
 * One request to an upstream of Anthropic's format and the relay of its answer. `result` settles once: it rejects only
 * while the sink is untouched.
 */
export class RawExchange implements Dispatcher.DispatchHandler {
  readonly result: Promise<Outcome | Refusal>
  readonly #attempt: Attempt
  readonly #sink: Sink
  readonly #pingAfterMs: number
  readonly #settle: (outcome: Outcome | Refusal) => void
  readonly #reject: (error: AppError) => void
  readonly #deadline: NodeJS.Timeout
  #controller: Controller | undefined
  #answer: Answer | undefined
  #relay: StreamRelay | undefined
  #chunks: Buffer[] = []
  #size = 0
  #firstContentMs: number | undefined
  #isOver = false

  constructor(attempt: Attempt, sink: Sink, pingAfterMs: number) {
    this.#attempt = attempt
    this.#sink = sink
    this.#pingAfterMs = pingAfterMs
    const { promise, resolve, reject } = Promise.withResolvers<Outcome | Refusal>()
    this.result = promise
    this.#settle = resolve
    this.#reject = reject
    this.#deadline = setTimeout(this.#onDeadline, attempt.target.deployment.timeouts.totalMs)
    this.#deadline.unref()
    attempt.call.signal.addEventListener('abort', this.#onCallerGone, { once: true })
    if (attempt.call.signal.aborted) this.#onCallerGone()
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    // The caller left while the request waited for its connection.
    if (this.#isOver) controller.abort(new Error('the call is over'))
  }

  onResponseStart(_controller: Controller, status: number, headers: UpstreamHeaders): void {
    if (status < 200 || this.#isOver) return
    const fault = faultOf(status, headers)
    if (fault !== undefined) {
      this.#fail(upstreamFault(this.#attempt, fault))
      return
    }
    const { ownHeaders, call } = this.#attempt
    this.#answer = { status, headers: { 'request-id': call.requestId, ...relayedHeaders(headers), ...ownHeaders } }
    if (status >= 300 || !isEventStream(headers)) return
    this.#sink.head(status, { ...this.#answer.headers, ...streamHeaders })
    this.#relay = createStreamRelay({
      sink: this.#sink,
      requestId: call.requestId,
      pingAfterMs: this.#pingAfterMs,
      onFirstContent: () => {
        this.#firstContentMs = this.#elapsedMs()
      },
    })
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#relay) this.#relay.push(controller, chunk)
    else this.#collect(controller, chunk)
  }

  #collect(controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    const isError = this.#answer !== undefined && this.#answer.status >= 400
    if (isError && this.#size > maxErrorBytes) {
      this.#refuse()
      controller.abort(new Error('the error body is too long'))
    } else if (this.#size > maxAnswerBytes) {
      this.#fail(upstreamFault(this.#attempt, 'sent too long an answer'))
    }
  }

  onResponseEnd(): void {
    if (this.#isOver || !this.#answer) return
    if (this.#relay) {
      const isWhole = this.#relay.finish()
      this.#finish(this.#outcome(isWhole ? 'completed' : 'failed'))
    } else if (this.#answer.status >= 400) this.#refuse()
    else this.#answerAtOnce(this.#answer)
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (!this.#isOver) this.#fail(upstreamFailure(error, this.#attempt.ask.model))
  }

  #answerAtOnce({ status, headers }: Answer): void {
    const body = this.#body()
    this.#sink.head(status, { ...headers, 'content-length': String(body.length) })
    this.#sink.end(body)
    this.#firstContentMs = this.#elapsedMs()
    this.#close()
    // Counting may take a while for a long answer: the client gets its bytes first.
    setImmediate(() => this.#settle({ ...this.#outcome('completed'), ...usageOfAnswer(body) }))
  }

  #refuse(): void {
    if (!this.#answer) return
    const body = scrubbed(this.#body().subarray(0, maxErrorBytes), this.#attempt.target.deployment)
    this.#finish({ outcome: 'refused', ...this.#answer, body })
  }

  /** The call cannot succeed any more: told in the stream once it has begun, else by a rejection. */
  #fail(error: AppError): void {
    if (this.#relay) {
      this.#relay.breakOff(error.code, error.message)
      const isWhole = this.#relay.tap.end === 'stop'
      this.#finish(this.#outcome(isWhole ? 'completed' : 'failed'))
    } else {
      this.#close()
      this.#reject(error)
    }
    this.#controller?.abort(error)
  }

  readonly #onDeadline = (): void => {
    this.#fail(upstreamFault(this.#attempt, 'took longer than its time-out in total', 'upstream_timeout'))
  }

  readonly #onCallerGone = (): void => {
    if (this.#isOver) return
    this.#finish(this.#outcome('aborted'))
    this.#controller?.abort(new Error('the caller is gone'))
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    const tap = this.#relay?.tap
    return {
      outcome,
      status: this.#relay || outcome === 'completed' ? this.#answer?.status : undefined,
      stopReason: tap?.stopReason,
      usage: tap?.usage ?? noTokens,
      firstContentMs: this.#firstContentMs,
    }
  }

  #finish(outcome: Outcome | Refusal): void {
    this.#close()
    this.#settle(outcome)
  }

  /** Nothing of this exchange acts after this. */
  #close(): void {
    this.#isOver = true
    clearTimeout(this.#deadline)
    this.#relay?.stop()
    this.#attempt.call.signal.removeEventListener('abort', this.#onCallerGone)
  }

  #body(): Buffer {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks)
  }

  #elapsedMs(): number {
    return performance.now() - this.#attempt.startedMs
  }
}

const isEventStream = (headers: UpstreamHeaders): boolean =>
  String(headers['content-type']).startsWith('text/event-stream')

/** What makes an answer of no use, whatever its body: the rest of a sentence about the upstream. */
function faultOf(status: number, headers: UpstreamHeaders): string | undefined {
  if (status >= 300 && status < 400) return 'answered with a redirect'
  const encoding = headers['content-encoding']
  return encoding === undefined || encoding === 'identity'
    ? undefined
    : 'sent an answer in an encoding that was not asked for'
}

const upstreamFault = (
  { ask }: Attempt,
  fault: string,
  code: 'upstream_unreachable' | 'upstream_timeout' = 'upstream_unreachable',
): AppError => new AppError(code, `the upstream of model ${ask.model.slice(0, 200)} ${fault}`)
