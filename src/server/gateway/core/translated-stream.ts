import { type ErrorCode, statusOfCode } from '../../../contract/error-codes.ts'
import type { FrameReader } from '../bytes/frame-reader.ts'
import { reasonOfText } from '../passthrough/answers.ts'
import {
  type AnswerHead,
  type AnswerStream,
  type Controller,
  type Ending,
  upstreamFault,
} from '../upstream/exchange.ts'
import { streamHeaders } from '../upstream/headers.ts'
import type { AnswerEvent, UpstreamEvent } from './answer-event.ts'
import type { Attempt, Outcome, Sink, UpstreamError } from './call.ts'
import type { AnswerWriter, ProblemWriter } from './client-format.ts'
import type { StreamDecoder, UpstreamProblem } from './codec.ts'
import type { Degradation } from './degradations.ts'
import { FrameBuffer } from './frame-buffer.ts'
import type { Sequencer } from './sequencer.ts'

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  readonly frames: FrameReader
  readonly decoder: StreamDecoder
  readonly writer: AnswerWriter
  /** Creates the sequencer of this answer. */
  readonly createSequencer: (out: (event: AnswerEvent) => void) => Sequencer
  /** Degradations of the request; those of the stream are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly bufferMs: number
  readonly clean: (message: string) => string
}

/** Detects an answer that only declines to answer. */
export class DeclineWatch {
  #isDeclining = false
  #isThinking = false
  #hasThought = false
  #hasAnswered = false

  /** Notes that the text that follows declines. */
  declined(): void {
    this.#isDeclining = true
  }

  take(event: AnswerEvent): void {
    if (event.type === 'block_delta') {
      if (this.#isThinking) this.#hasThought = true
      else this.#hasAnswered ||= !this.#isDeclining
    }
    if (event.type !== 'block_start') return
    const { block } = event
    this.#isThinking = block.type === 'thinking'
    this.#hasAnswered ||=
      block.type === 'tool_use' || (block.type === 'whole' && block.block.type !== 'redacted_thinking')
  }

  /** True once there is content of an answer; thinking does not count. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** True once there is content for the client, including thinking. */
  get hasContent(): boolean {
    return this.#hasAnswered || this.#hasThought
  }
}

/** Error for a discarded answer that only declines, so that a fallback is tried. */
export const declinedProblem = {
  code: 'invalid_request',
  message: 'the model declined to answer',
  reason: 'policy',
} as const

/**
 * Translates an upstream's stream to the client's format. Frames are buffered until the first content, so that an early
 * error can be retried elsewhere; after that, the frames of each chunk are written at once.
 */
export class TranslatedStream implements AnswerStream {
  readonly #options: Options
  readonly #sequencer: Sequencer
  readonly #buffer: FrameBuffer
  readonly #decline = new DeclineWatch()
  #firstContentMs: number | undefined

  constructor(options: Options) {
    this.#options = options
    const { sink, head, pingAfterMs, bufferMs } = options
    this.#buffer = new FrameBuffer({
      sink,
      open: () => sink.head(head.status, { ...head.headers, ...eventStream, ...streamHeaders }),
      ping: () => options.writer.take(ping),
      pingAfterMs,
      bufferMs,
    })
    this.#sequencer = options.createSequencer(event => this.#onAnswerEvent(event))
  }

  push(controller: Controller, chunk: Buffer): Ending | undefined {
    const { frames, decoder } = this.#options
    let ending: Ending | undefined
    const read = frames.push(chunk)
    for (const frame of read.frames) {
      ending = this.#take(decoder.push(frame))
      if (ending) break
    }
    ending ??= read.fault === undefined ? undefined : this.#fail('upstream_unreachable', this.#fault(read.fault))
    if (ending) return ending
    this.#buffer.flush(controller)
    return undefined
  }

  finish(): Ending {
    const { frames, decoder } = this.#options
    const last = frames.finish().flatMap(frame => decoder.push(frame))
    return (
      this.#take(last) ??
      this.#take(decoder.end()) ??
      this.#fail('upstream_unreachable', this.#fault('ended its stream before the answer was complete'))
    )
  }

  interrupt({ code, message }: { code: ErrorCode; message: string }): Ending | undefined {
    return this.#buffer.isOpen ? this.#fail(code, message) : undefined
  }

  disconnected(rest: readonly Buffer[]): Outcome {
    const { frames, decoder } = this.#options
    for (const frame of rest.flatMap(chunk => frames.push(chunk).frames)) {
      for (const event of decoder.push(frame)) {
        if (event.type === 'error' || event.type === 'degraded' || event.type === 'declined') continue
        if (!this.#sequencer.hasEnded) this.#sequencer.push(event)
      }
    }
    return this.#outcome('aborted')
  }

  stop(): void {
    this.#buffer.stop()
  }

  /** Passes events to the sequencer until one of them ends the answer. */
  #take(events: readonly UpstreamEvent[]): Ending | undefined {
    for (const event of events) {
      if (event.type === 'error') return this.#fail(event.code, this.#options.clean(event.message))
      if (event.type === 'degraded') this.#options.degraded.push({ path: event.path, action: event.action })
      else if (event.type === 'declined') this.#decline.declined()
      else this.#sequencer.push(event)
      if (this.#sequencer.hasEnded) {
        if (this.#isDiscarded) return { ...this.#reject(declinedProblem), usage: this.#sequencer.usage }
        this.#buffer.end()
        return this.#outcome('completed')
      }
    }
    return undefined
  }

  #onAnswerEvent(event: AnswerEvent): void {
    this.#buffer.add(this.#options.writer.take(event))
    this.#decline.take(event)
    if (event.type === 'message_start') return
    if (event.type === 'block_start') this.#firstContentMs ??= performance.now() - this.#options.attempt.startedMs
    if (!this.#mayDiscard) this.#buffer.release()
  }

  /** True while the answer may turn out to only decline, and a fallback may answer. */
  get #mayDiscard(): boolean {
    return this.#options.attempt.hasPolicyFallback === true && !this.#decline.hasContent
  }

  get #isDiscarded(): boolean {
    return this.#mayDiscard && !this.#buffer.isOpen && this.#sequencer.stopReason === 'refusal'
  }

  /** Before the first content, returns an error that can be retried elsewhere; after it, writes an error frame. */
  #fail(code: ErrorCode, message: string): Outcome | UpstreamError {
    const { writer } = this.#options
    if (!this.#buffer.isOpen) {
      const retryCode = code === 'invalid_request' ? code : 'overloaded'
      return this.#reject({ code: retryCode, message, reason: reasonOfText(message) })
    }
    this.#buffer.add(writer.take({ type: 'error', code, message }))
    this.#buffer.end()
    return this.#outcome('failed')
  }

  #reject(problem: Parts['problem']): UpstreamError {
    const { writer, head, degraded } = this.#options
    return upstreamErrorOf({ problem, write: writer.problem, head, degraded })
  }

  #fault(fault: string): string {
    return upstreamFault(this.#options.attempt, fault).message
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    return {
      outcome,
      status: this.#buffer.isOpen ? this.#options.head.status : undefined,
      stopReason: this.#sequencer.stopReason,
      usage: this.#sequencer.usage,
      firstContentMs: this.#firstContentMs,
      degraded: this.#options.degraded,
    }
  }
}

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' } as const

const ping: AnswerEvent = { type: 'ping' }

interface Parts {
  readonly problem: Omit<UpstreamProblem, 'reason'> & { readonly reason: UpstreamError['reason'] | undefined }
  readonly write: ProblemWriter
  readonly head: AnswerHead
  readonly degraded: readonly Degradation[]
}

/** Returns an upstream error in the client's format. */
export const upstreamErrorOf = ({ problem, write, head, degraded }: Parts): UpstreamError => {
  const { code, status = statusOfCode(code), message, reason } = problem
  return {
    outcome: 'refused',
    status,
    headers: { ...head.headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(write(code, message, reason))),
    degraded,
    ...(reason !== undefined && { reason }),
  }
}
