import { type ErrorCode, statusOfCode } from '../../../contract/errors.ts'
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
import type { Attempt, Outcome, Refusal, Sink } from './call.ts'
import type { AnswerWriter, ProblemWriter } from './client-format.ts'
import type { StreamDecoder, UpstreamProblem } from './codec.ts'
import type { Degradation } from './degradations.ts'
import { HeldFrames } from './held-frames.ts'
import type { Sequencer } from './sequencer.ts'

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  readonly frames: FrameReader
  readonly decoder: StreamDecoder
  readonly writer: AnswerWriter
  /** Makes the sequencer that puts the events of this answer in order. */
  readonly createSequencer: (out: (event: AnswerEvent) => void) => Sequencer
  /** What the request lost; findings of the stream are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
  readonly clean: (message: string) => string
}

/** Watches whether an answer holds more than a refusal to answer. */
export class DeclineWatch {
  #isDeclining = false
  #isThinking = false
  #hasThought = false
  #hasAnswered = false

  /** The text that follows declines. */
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

  /** True once there is an answer; thinking is none. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** True once there is something for the client to read. */
  get hasSaid(): boolean {
    return this.#hasAnswered || this.#hasThought
  }
}

/** What stands for an answer that only declines, so that another model is asked. */
export const declinedProblem = {
  code: 'invalid_request',
  message: 'the model declined to answer',
  reason: 'policy',
} as const

/**
 * Turns an upstream's stream into the client's. Until the first content the answer is held back, so that an early error
 * can be tried elsewhere; after it the frames of each chunk leave at once, in one write.
 */
export class TranslatedStream implements AnswerStream {
  readonly #options: Options
  readonly #sequencer: Sequencer
  readonly #held: HeldFrames
  readonly #decline = new DeclineWatch()
  #firstContentMs: number | undefined

  constructor(options: Options) {
    this.#options = options
    const { sink, head, pingAfterMs, holdBackMs } = options
    this.#held = new HeldFrames({
      sink,
      open: () => sink.head(head.status, { ...head.headers, ...eventStream, ...streamHeaders }),
      ping: () => options.writer.take(ping),
      pingAfterMs,
      holdBackMs,
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
    this.#held.flush(controller)
    return undefined
  }

  finish(): Ending {
    const { decoder } = this.#options
    return (
      this.#take(decoder.end()) ??
      this.#fail('upstream_unreachable', this.#fault('ended its stream before the answer was complete'))
    )
  }

  breakOff({ code, message }: { code: ErrorCode; message: string }): Ending | undefined {
    return this.#held.isOpen ? this.#fail(code, message) : undefined
  }

  abandoned(rest: readonly Buffer[]): Outcome {
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
    this.#held.stop()
  }

  /** Hands events on until one of them ends the answer. */
  #take(events: readonly UpstreamEvent[]): Ending | undefined {
    for (const event of events) {
      if (event.type === 'error') return this.#fail(event.code, this.#options.clean(event.message))
      if (event.type === 'degraded') this.#options.degraded.push({ path: event.path, action: event.action })
      else if (event.type === 'declined') this.#decline.declined()
      else this.#sequencer.push(event)
      if (this.#sequencer.hasEnded) {
        if (this.#isGivenUp) return { ...this.#refuse(declinedProblem), usage: this.#sequencer.usage }
        this.#held.end()
        return this.#outcome('completed')
      }
    }
    return undefined
  }

  #onAnswerEvent(event: AnswerEvent): void {
    this.#held.add(this.#options.writer.take(event))
    this.#decline.take(event)
    if (event.type === 'message_start') return
    if (event.type === 'block_start') this.#firstContentMs ??= performance.now() - this.#options.attempt.startedMs
    if (!this.#mayGiveUp) this.#held.release()
  }

  /** True as long as all that has come may be the beginning of a refusal, and another model could answer. */
  get #mayGiveUp(): boolean {
    return this.#options.attempt.hasPolicyFallback === true && !this.#decline.hasSaid
  }

  get #isGivenUp(): boolean {
    return this.#mayGiveUp && !this.#held.isOpen && this.#sequencer.stopReason === 'refusal'
  }

  /** Before the first content an error is a refusal that can still be tried elsewhere; after it one frame tells of it. */
  #fail(code: ErrorCode, message: string): Outcome | Refusal {
    const { writer } = this.#options
    if (!this.#held.isOpen) {
      const seen = code === 'invalid_request' ? code : 'overloaded'
      return this.#refuse({ code: seen, message, reason: reasonOfText(message) })
    }
    this.#held.add(writer.take({ type: 'error', code, message }))
    this.#held.end()
    return this.#outcome('failed')
  }

  #refuse(problem: Parts['problem']): Refusal {
    const { writer, head, degraded } = this.#options
    return refusalOf({ problem, write: writer.problem, head, degraded })
  }

  #fault(fault: string): string {
    return upstreamFault(this.#options.attempt, fault).message
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    return {
      outcome,
      status: this.#held.isOpen ? this.#options.head.status : undefined,
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
  readonly problem: Omit<UpstreamProblem, 'reason'> & { readonly reason: Refusal['reason'] | undefined }
  readonly write: ProblemWriter
  readonly head: AnswerHead
  readonly degraded: readonly Degradation[]
}

/** An upstream error in the client's own format. */
export const refusalOf = ({ problem, write, head, degraded }: Parts): Refusal => {
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
