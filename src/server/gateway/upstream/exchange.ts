import type { Dispatcher } from 'undici'
import { AppError } from '../../platform/errors.ts'
import type { Attempt, Outcome, Refusal, Sink } from '../core/call.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { relayedHeaders } from './headers.ts'
import { holdsSecret } from './scrub.ts'
import { UpstreamCut, upstreamFailure } from './upstream-failure.ts'

export type Controller = Dispatcher.DispatchController
export type UpstreamHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/** The head of an upstream's answer. `headers` are those that may reach the client, ours among them. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Record<string, string>
}

/** How an exchange ends: with an answer at the sink, or with a refusal while the sink is untouched. */
export type Ending = Outcome | Refusal

/** A whole answer as the client gets it. */
export interface WholeAnswer {
  /** In an object that is the answer's own: the length of the body is added to it. */
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** What to book. Called after the client has its bytes: counting may take a while for a long answer. */
  readonly counts: () => Pick<Outcome, 'usage' | 'stopReason' | 'degraded'>
}

/** The relay of one answer's stream. An ending that it returns is final: nothing is called after it but `stop`. */
export interface AnswerStream {
  /** Takes the next bytes. An ending means that the upstream has said enough. */
  push(controller: Controller, chunk: Buffer): Ending | undefined
  /** The upstream is done. Undefined when nothing is out yet and nothing can be made of it: the call fails. */
  finish(): Ending | undefined
  /** The upstream is lost. Undefined when nothing is out yet, so that the call can fail with `error`. */
  breakOff(error: AppError): Ending | undefined
  /** The caller is gone: what to book. `rest` came after that, and is read for its usage alone. */
  abandoned(rest: readonly Buffer[]): Outcome
  /** Stops all timers; nothing more goes out. */
  stop(): void
}

/** What a lane makes of an upstream's answer. */
export interface AnswerReader {
  /** The names of the upstream's headers that reach the client besides those of every answer. */
  readonly relays?: RegExp
  /** True: 304 is an answer, since the request may say what the client has. */
  readonly takesUnmodified?: true
  /** True when an answer with these headers is to be relayed as it comes. */
  isStream(headers: UpstreamHeaders): boolean
  stream(head: AnswerHead): AnswerStream
  /** A refusal when the body is of no use. */
  whole(head: AnswerHead, body: Buffer): WholeAnswer | Refusal
  /** The status is 400 or above; of a long body only the first megabyte is here. */
  refusal(head: AnswerHead, body: Buffer): Refusal
}

const maxErrorBytes = 1024 * 1024
const maxAnswerBytes = 64 * 1024 * 1024
/** How long an upstream may take to end its answer once it is complete. */
const runOutMs = 1_000

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly reader: AnswerReader
}

/**
 * One request to an upstream and what becomes of its answer. Owns the total time-out, the caller's leaving and the
 * limits of size. `result` settles once: it rejects with AppError only while the sink is untouched.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly result: Promise<Ending>
  readonly #attempt: Attempt
  readonly #sink: Sink
  readonly #reader: AnswerReader
  readonly #settle: (ending: Ending) => void
  readonly #reject: (error: unknown) => void
  readonly #deadline: NodeJS.Timeout
  #controller: Controller | undefined
  #head: AnswerHead | undefined
  #stream: AnswerStream | undefined
  #chunks: Buffer[] = []
  #size = 0
  #isOver = false
  #isLeft = false
  /** `performance.now()` when the request went out. */
  #sentMs: number | undefined
  #leaving: NodeJS.Timeout | undefined

  constructor({ attempt, sink, reader }: Options) {
    this.#attempt = attempt
    this.#sink = sink
    this.#reader = reader
    const { promise, resolve, reject } = Promise.withResolvers<Ending>()
    this.result = promise
    this.#settle = resolve
    this.#reject = reject
    this.#deadline = setTimeout(this.#onDeadline, attempt.target.deployment.timeouts.totalMs)
    this.#deadline.unref()
    attempt.call.signal.addEventListener('abort', this.#onCallerGone, { once: true })
    if (attempt.call.signal.aborted) this.#onCallerGone()
  }

  /** The request could not be made, and was never sent. */
  abandon(error: unknown): void {
    if (this.#isOver) return
    this.#close()
    this.#reject(error)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    // The caller left while the request waited for its connection.
    if (this.#isOver || this.#isLeft) controller.abort(new Error('the call is over'))
    else this.#sentMs = performance.now()
  }

  onResponseStart(_controller: Controller, status: number, headers: UpstreamHeaders): void {
    if (status < 200 || this.#isOver) return
    const isUnmodified = status === 304 && this.#reader.takesUnmodified === true
    const fault = isUnmodified ? undefined : faultOf(status, headers)
    if (fault !== undefined) {
      // Whoever answers so has made nothing of the request.
      this.#sentMs = undefined
      this.#fail(upstreamFault(this.#attempt, fault))
      return
    }
    if (status >= 400) this.#sentMs = undefined
    const { ownHeaders, call, target } = this.#attempt
    const relayed = relayedHeaders(headers, {
      holdsSecret: value => holdsSecret(value, target.deployment),
      more: this.#reader.relays,
    })
    relayed['request-id'] ??= call.requestId
    this.#head = { status, headers: Object.assign(relayed, ownHeaders) }
    const isStream = isUnmodified || (status < 300 && this.#reader.isStream(headers))
    if (isStream) this.#stream = this.#reader.stream(this.#head)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isOver) return
    if (!this.#stream || this.#isLeft) {
      this.#collect(controller, chunk)
      return
    }
    const ending = this.#stream.push(controller, chunk)
    if (!ending) return
    this.#finish(ending)
    if (ending.outcome === 'completed') this.#letRunOut(controller)
    else controller.abort(new Error('the answer is of no use'))
  }

  /** An upstream that has said all needs a moment to end: cut off, its connection could not serve the next call. */
  #letRunOut(controller: Controller): void {
    this.#leaving = setTimeout(() => controller.abort(new Error('the answer is complete')), runOutMs)
    this.#leaving.unref()
  }

  #collect(controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    const isError = this.#head !== undefined && this.#head.status >= 400
    if (isError && this.#size > maxErrorBytes) {
      this.#refuse()
      controller.abort(new Error('the error body is too long'))
    } else if (this.#size > maxAnswerBytes) {
      this.#fail(upstreamFault(this.#attempt, 'sent too long an answer'))
    }
  }

  onResponseEnd(): void {
    clearTimeout(this.#leaving)
    if (this.#isOver || !this.#head) return
    if (this.#isLeft) this.#finish(this.#leftBehind(this.#head))
    else if (this.#stream) this.#finishStream(this.#stream)
    else if (this.#head.status >= 400) this.#refuse()
    else this.#answerAtOnce(this.#head)
  }

  onResponseError(_controller: Controller, error: Error): void {
    clearTimeout(this.#leaving)
    if (!this.#isOver) this.#fail(upstreamFailure(error, this.#attempt.ask.model))
  }

  #finishStream(stream: AnswerStream): void {
    const ending = stream.finish()
    if (ending) this.#finish(ending)
    else this.#fail(upstreamFault(this.#attempt, 'ended the stream before its answer began'))
  }

  #answerAtOnce(head: AnswerHead): void {
    const answer = this.#reader.whole(head, this.#body())
    if ('outcome' in answer) {
      this.#finish(answer)
      return
    }
    const { headers, body, counts } = answer
    headers['content-length'] = String(body.length)
    this.#sink.head(head.status, headers)
    this.#sink.end(body)
    const firstContentMs = performance.now() - this.#attempt.startedMs
    this.#close()
    setImmediate(() => this.#settle({ outcome: 'completed', status: head.status, firstContentMs, ...counts() }))
  }

  #refuse(): void {
    if (this.#head) this.#finish(this.#reader.refusal(this.#head, this.#body().subarray(0, maxErrorBytes)))
  }

  /** The call cannot succeed any more: told in the stream once it has begun, else by a rejection. */
  #fail(error: AppError): void {
    const ending = this.#isLeft ? this.#leftBehind() : this.#stream?.breakOff(error)
    if (ending) this.#finish(ending)
    else {
      this.#close()
      this.#reject(this.#sentMs === undefined ? error : new UpstreamCut(error, performance.now() - this.#sentMs))
    }
    this.#controller?.abort(error)
  }

  readonly #onDeadline = (): void => {
    this.#fail(upstreamFault(this.#attempt, 'took longer than its time-out in total', 'upstream_timeout'))
  }

  /** What the upstream has sent by now is still read, for its usage: a process that was stopped finds both at once. */
  readonly #onCallerGone = (): void => {
    if (this.#isOver || this.#isLeft) return
    this.#isLeft = true
    this.#stream?.stop()
    setImmediate(this.#onLeft)
  }

  readonly #onLeft = (): void => {
    if (!this.#isOver) this.#finish(this.#leftBehind())
    this.#controller?.abort(new Error('the caller is gone'))
  }

  /** What to book for a caller who has left; `whole` is the head of an answer that has come to its end. */
  #leftBehind(whole?: AnswerHead): Outcome {
    if (this.#stream) return this.#stream.abandoned(this.#chunks)
    const answer = whole && whole.status < 400 ? this.#reader.whole(whole, this.#body()) : undefined
    return answer && !('outcome' in answer) ? { ...leftEarly, ...answer.counts() } : leftEarly
  }

  #finish(ending: Ending): void {
    this.#close()
    const isUnstated = ending.outcome === 'aborted' || ending.outcome === 'failed'
    if (!isUnstated || this.#sentMs === undefined || isStated(ending.usage)) this.#settle(ending)
    else this.#settle({ ...ending, unstatedMs: performance.now() - this.#sentMs })
  }

  /** Nothing of this exchange acts after this. */
  #close(): void {
    this.#isOver = true
    clearTimeout(this.#deadline)
    this.#stream?.stop()
    this.#attempt.call.signal.removeEventListener('abort', this.#onCallerGone)
  }

  #body(): Buffer {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks)
  }
}

const leftEarly: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** True for figures that are all the upstream's own. */
const isStated = ({ estimated, input_tokens, cache_read_tokens, output_tokens }: TokenCounts): boolean =>
  !estimated && input_tokens + cache_read_tokens + output_tokens > 0

/** What makes an answer of no use, whatever its body: the rest of a sentence about the upstream. */
function faultOf(status: number, headers: UpstreamHeaders): string | undefined {
  if (status >= 300 && status < 400) return 'answered with a redirect'
  const encoding = headers['content-encoding']
  return encoding === undefined || encoding === 'identity'
    ? undefined
    : 'sent an answer in an encoding that was not asked for'
}

/** An upstream's fault as the caller sees it: `fault` is the rest of a sentence. The text names the model, never a host. */
export const upstreamFault = (
  { ask }: Attempt,
  fault: string,
  code: 'upstream_unreachable' | 'upstream_timeout' = 'upstream_unreachable',
): AppError => new AppError(code, `the upstream of model ${ask.model.slice(0, 200)} ${fault}`)
