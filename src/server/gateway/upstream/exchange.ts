import type { Dispatcher } from 'undici'
import { AppError } from '../../platform/errors.ts'
import type { Attempt, Outcome, Sink, UpstreamError } from '../core/call.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { relayedHeaders } from './headers.ts'
import { statedRetryAfter } from './retry-info.ts'
import { containsSecret } from './scrub.ts'
import { UpstreamInterrupted, upstreamFailure } from './upstream-failure.ts'

export type Controller = Dispatcher.DispatchController
export type UpstreamHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

/** Head of an upstream's response. `headers` are those for the client, including the gateway's own. */
export interface AnswerHead {
  readonly status: number
  readonly headers: Record<string, string>
}

/** How an exchange ends: with a response written to the sink, or with an upstream error before anything was written. */
export type Ending = Outcome | UpstreamError

/** Whole response for the client. */
export interface WholeAnswer {
  /** Not shared: the exchange adds the length of the body. */
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** Returns what to book. Called after the response was sent, because counting a long response takes time. */
  readonly counts: () => Pick<Outcome, 'usage' | 'stopReason' | 'degraded'>
}

/** Relays one streamed response. A returned ending is final: only `stop` may be called after it. */
export interface AnswerStream {
  /** Handles the next bytes. Returns an ending when no further bytes are needed. */
  push(controller: Controller, chunk: Buffer): Ending | undefined
  /** Handles the end of the response. Returns undefined when it was unusable and nothing was sent: the call fails. */
  finish(): Ending | undefined
  /** Handles a lost connection. Returns undefined when nothing was sent, so that the call fails with `error`. */
  interrupt(error: AppError): Ending | undefined
  /** Returns what to book after the client disconnected. `rest` came after that and is read for its usage only. */
  disconnected(rest: readonly Buffer[]): Outcome
  /** Stops all timers. Nothing is sent after this. */
  stop(): void
}

/** Converts an upstream's response for the client. */
export interface AnswerReader {
  /** Names of upstream headers that are relayed besides those of every response. */
  readonly relays?: RegExp
  /** True: status 304 is a valid response, because the request may be conditional. */
  readonly acceptsNotModified?: true
  /** Reports whether a response with these headers is relayed as it arrives. */
  isStream(headers: UpstreamHeaders): boolean
  stream(head: AnswerHead): AnswerStream
  /** Returns an upstream error when the body is unusable. */
  whole(head: AnswerHead, body: Buffer): WholeAnswer | UpstreamError
  /** Converts a response with status 400 or above. `body` is truncated at 1 MiB. */
  upstreamError(head: AnswerHead, body: Buffer): UpstreamError
}

const maxErrorBytes = 1024 * 1024
const maxAnswerBytes = 64 * 1024 * 1024
/** Milliseconds for the upstream to end a stream after its last event. */
const drainMs = 1_000

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly reader: AnswerReader
}

/**
 * One request to an upstream and its response. Enforces the total timeout and the size limits, and handles a client
 * that disconnects. `result` settles once; it rejects with AppError only before anything was written to the sink.
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
  #isDone = false
  #isDisconnected = false
  /** `performance.now()` when the request was sent. */
  #sentMs: number | undefined
  #drainTimer: NodeJS.Timeout | undefined

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
    attempt.call.signal.addEventListener('abort', this.#onDisconnect, { once: true })
    if (attempt.call.signal.aborted) this.#onDisconnect()
  }

  /** Fails a request that was never sent. */
  failUnsent(error: unknown): void {
    if (this.#isDone) return
    this.#close()
    this.#reject(error)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    // The client disconnected while the request waited for its connection.
    if (this.#isDone || this.#isDisconnected) controller.abort(new Error('call has ended'))
    else this.#sentMs = performance.now()
  }

  onResponseStart(_controller: Controller, status: number, headers: UpstreamHeaders): void {
    if (status < 200 || this.#isDone) return
    const isUnmodified = status === 304 && this.#reader.acceptsNotModified === true
    const fault = isUnmodified ? undefined : faultOf(status, headers)
    if (fault !== undefined) {
      // Such a response means that the upstream did not process the request.
      this.#sentMs = undefined
      this.#fail(upstreamFault(this.#attempt, fault))
      return
    }
    if (status >= 400) this.#sentMs = undefined
    const { ownHeaders, call, target } = this.#attempt
    const relayed = relayedHeaders(headers, {
      containsSecret: value => containsSecret(value, target.deployment),
      more: this.#reader.relays,
    })
    relayed['request-id'] ??= call.requestId
    this.#head = { status, headers: Object.assign(relayed, ownHeaders) }
    const isStream = isUnmodified || (status < 300 && this.#reader.isStream(headers))
    if (isStream) this.#stream = this.#reader.stream(this.#head)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isDone) return
    if (!this.#stream || this.#isDisconnected) {
      this.#collect(controller, chunk)
      return
    }
    const ending = this.#stream.push(controller, chunk)
    if (!ending) return
    this.#finish(ending)
    if (ending.outcome === 'completed') this.#drain(controller)
    else controller.abort(new Error('response is unusable'))
  }

  /** Waits for the end of a complete stream: an aborted connection cannot be reused for the next call. */
  #drain(controller: Controller): void {
    this.#drainTimer = setTimeout(() => controller.abort(new Error('response is complete')), drainMs)
    this.#drainTimer.unref()
  }

  #collect(controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    const isError = this.#head !== undefined && this.#head.status >= 400
    if (isError && this.#size > maxErrorBytes) {
      this.#passUpstreamError()
      controller.abort(new Error('error body exceeds 1 MiB'))
    } else if (this.#size > maxAnswerBytes) {
      this.#fail(upstreamFault(this.#attempt, 'returned a response longer than 64 MiB'))
    }
  }

  onResponseEnd(): void {
    clearTimeout(this.#drainTimer)
    if (this.#isDone || !this.#head) return
    if (this.#isDisconnected) this.#finish(this.#abortedOutcome(this.#head))
    else if (this.#stream) this.#finishStream(this.#stream)
    else if (this.#head.status >= 400) this.#passUpstreamError()
    else this.#sendWhole(this.#head)
  }

  onResponseError(_controller: Controller, error: Error): void {
    clearTimeout(this.#drainTimer)
    if (!this.#isDone) this.#fail(upstreamFailure(error, this.#attempt.parsed.model))
  }

  #finishStream(stream: AnswerStream): void {
    const ending = stream.finish()
    if (ending) this.#finish(ending)
    else this.#fail(upstreamFault(this.#attempt, 'ended the stream before it sent any content'))
  }

  #sendWhole(head: AnswerHead): void {
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

  #passUpstreamError(): void {
    if (!this.#head) return
    const body = this.#body().subarray(0, maxErrorBytes)
    const { headers } = this.#head
    const stated = headers['retry-after'] === undefined ? statedRetryAfter(body) : undefined
    if (stated !== undefined) headers['retry-after'] = stated
    this.#finish(this.#reader.upstreamError(this.#head, body))
  }

  /** Fails the call: in the stream once it has begun, else by rejecting. */
  #fail(error: AppError): void {
    const ending = this.#isDisconnected ? this.#abortedOutcome() : this.#stream?.interrupt(error)
    if (ending) this.#finish(ending)
    else {
      this.#close()
      this.#reject(
        this.#sentMs === undefined ? error : new UpstreamInterrupted(error, performance.now() - this.#sentMs),
      )
    }
    this.#controller?.abort(error)
  }

  readonly #onDeadline = (): void => {
    this.#fail(upstreamFault(this.#attempt, 'exceeded its total timeout', 'upstream_timeout'))
  }

  /** Waits one tick, so that bytes that arrived together with the disconnect are still read for their usage. */
  readonly #onDisconnect = (): void => {
    if (this.#isDone || this.#isDisconnected) return
    this.#isDisconnected = true
    this.#stream?.stop()
    setImmediate(this.#finishDisconnected)
  }

  readonly #finishDisconnected = (): void => {
    if (!this.#isDone) this.#finish(this.#abortedOutcome())
    this.#controller?.abort(new Error('the client disconnected'))
  }

  /** Returns what to book after the client disconnected; `whole` is the head of a complete response. */
  #abortedOutcome(whole?: AnswerHead): Outcome {
    if (this.#stream) return this.#stream.disconnected(this.#chunks)
    const answer = whole && whole.status < 400 ? this.#reader.whole(whole, this.#body()) : undefined
    return answer && !('outcome' in answer) ? { ...abortedEarly, ...answer.counts() } : abortedEarly
  }

  #finish(ending: Ending): void {
    this.#close()
    const isUnstated = ending.outcome === 'aborted' || ending.outcome === 'failed'
    if (!isUnstated || this.#sentMs === undefined || isStated(ending.usage)) this.#settle(ending)
    else this.#settle({ ...ending, unstatedMs: performance.now() - this.#sentMs })
  }

  /** Ends the exchange: its timers and listeners never act after this. */
  #close(): void {
    this.#isDone = true
    clearTimeout(this.#deadline)
    this.#stream?.stop()
    this.#attempt.call.signal.removeEventListener('abort', this.#onDisconnect)
  }

  #body(): Buffer {
    const [only] = this.#chunks
    return this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks)
  }
}

/** Ends an exchange with a complete JSON answer that came another way than over its connection. */
export function answered(exchange: Exchange, body: Buffer): Exchange['result'] {
  exchange.onResponseStart(noController, 200, { 'content-type': 'application/json' })
  exchange.onResponseData(noController, body)
  exchange.onResponseEnd()
  return exchange.result
}

const noController: Controller = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
}

const abortedEarly: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** Reports whether all counts were reported by the upstream. */
const isStated = ({ estimated, input_tokens, cache_read_tokens, output_tokens }: TokenCounts): boolean =>
  !estimated && input_tokens + cache_read_tokens + output_tokens > 0

/** Returns why a response is unusable whatever its body; completes the sentence "the upstream of model X ...". */
function faultOf(status: number, headers: UpstreamHeaders): string | undefined {
  if (status >= 300 && status < 400) return 'answered with a redirect'
  const encoding = headers['content-encoding']
  return encoding === undefined || encoding === 'identity'
    ? undefined
    : 'returned an encoding that the request does not accept'
}

/**
 * Returns an upstream's fault as an error for the client. `fault` completes the sentence "the upstream of model X ...".
 */
export const upstreamFault = (
  { parsed }: Attempt,
  fault: string,
  code: 'upstream_unreachable' | 'upstream_timeout' = 'upstream_unreachable',
): AppError => new AppError(code, `the upstream of model ${parsed.model.slice(0, 200)} ${fault}`)
