import { anthropicError, type ErrorCode, statusOfCode } from '../../../contract/errors.ts'
import type { FrameReader } from '../bytes/frame-reader.ts'
import type { Encoder } from '../formats/anthropic/encoder.ts'
import { type WireEvent, wireFrame } from '../formats/anthropic/wire-event.ts'
import { errorFrame } from '../passthrough/stream-relay.ts'
import {
  type AnswerHead,
  type AnswerStream,
  type Controller,
  type Ending,
  upstreamFault,
} from '../upstream/exchange.ts'
import { streamHeaders } from '../upstream/headers.ts'
import type { UpstreamEvent } from './answer-event.ts'
import type { Attempt, Outcome, Refusal, Sink } from './call.ts'
import type { StreamDecoder } from './codec.ts'
import type { Degradation } from './degradations.ts'
import { HeldFrames } from './held-frames.ts'

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  readonly frames: FrameReader
  readonly decoder: StreamDecoder
  /** Makes the encoder that writes to `out`. */
  readonly createEncoder: (out: (event: WireEvent) => void) => Encoder
  /** What the request lost; findings of the stream are added. */
  readonly degraded: Degradation[]
  readonly pingAfterMs: number
  readonly holdBackMs: number
  readonly clean: (message: string) => string
}

/**
 * Turns an upstream's stream into Anthropic's. Until the first content the answer is held back, so that an early error
 * can be tried elsewhere; after it the frames of each chunk leave at once, in one write.
 */
export class TranslatedStream implements AnswerStream {
  readonly #options: Options
  readonly #encoder: Encoder
  readonly #held: HeldFrames
  #firstContentMs: number | undefined

  constructor(options: Options) {
    this.#options = options
    const { sink, head, pingAfterMs, holdBackMs } = options
    this.#held = new HeldFrames({
      sink,
      open: () => sink.head(head.status, { ...head.headers, ...eventStream, ...streamHeaders }),
      pingAfterMs,
      holdBackMs,
    })
    this.#encoder = options.createEncoder(event => this.#onWireEvent(event))
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
        if (event.type !== 'error' && event.type !== 'degraded' && !this.#encoder.hasEnded) this.#encoder.push(event)
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
      else this.#encoder.push(event)
      if (this.#encoder.hasEnded) {
        this.#held.end()
        return this.#outcome('completed')
      }
    }
    return undefined
  }

  #onWireEvent(event: WireEvent): void {
    this.#held.add(wireFrame(event))
    if (event.type === 'message_start') return
    if (event.type === 'content_block_start')
      this.#firstContentMs ??= performance.now() - this.#options.attempt.startedMs
    this.#held.release()
  }

  /** Before the first content an error is a refusal that can still be tried elsewhere; after it one frame tells of it. */
  #fail(code: ErrorCode, message: string): Outcome | Refusal {
    const { attempt, head, degraded } = this.#options
    const { requestId } = attempt.call
    if (!this.#held.isOpen) {
      const seen = code === 'invalid_request' ? code : 'overloaded'
      return refusalOf({ status: statusOfCode(seen), head, body: problemBody(seen, message, requestId), degraded })
    }
    this.#held.add(errorFrame({ code, message, requestId }).toString())
    this.#held.end()
    return this.#outcome('failed')
  }

  #fault(fault: string): string {
    return upstreamFault(this.#options.attempt, fault).message
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    return {
      outcome,
      status: this.#held.isOpen ? this.#options.head.status : undefined,
      stopReason: this.#encoder.stopReason,
      usage: this.#encoder.usage,
      firstContentMs: this.#firstContentMs,
      degraded: this.#options.degraded,
    }
  }
}

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' } as const

/** The one error body of the translated lane: Anthropic's envelope. */
export const problemBody = (code: ErrorCode, message: string, requestId: string): Buffer =>
  Buffer.from(JSON.stringify(anthropicError(code, message, requestId)))

interface Parts {
  readonly status: number
  readonly head: AnswerHead
  readonly body: Buffer
  readonly degraded: readonly Degradation[]
  readonly reason?: Refusal['reason']
}

/** A refusal with a body of ours in place of the upstream's. */
export const refusalOf = ({ status, head, body, degraded, reason }: Parts): Refusal => ({
  outcome: 'refused',
  status,
  headers: { ...head.headers, 'content-type': 'application/json' },
  body,
  degraded,
  ...(reason !== undefined && { reason }),
})
