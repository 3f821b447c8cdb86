import type { AppError } from '../../platform/errors.ts'
import type { Attempt, Outcome, Sink } from '../core/call.ts'
import type { AnswerHead, AnswerStream, Controller } from '../upstream/exchange.ts'
import { streamHeaders } from '../upstream/headers.ts'

interface Options {
  readonly attempt: Attempt
  readonly sink: Sink
  readonly head: AnswerHead
  /** Returns the counts to book. */
  readonly counts: () => Pick<Outcome, 'usage' | 'units'>
}

/**
 * Relays audio, text or other bytes as they arrive, with back-pressure. A truncated response is truncated for the
 * client too.
 */
export class ByteStream implements AnswerStream {
  readonly #options: Options
  #firstContentMs: number | undefined
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
  }

  push(controller: Controller, chunk: Buffer): undefined {
    this.#open()
    if (this.#options.sink.data(chunk)) return
    controller.pause()
    this.#options.sink.onDrain(() => this.#isStopped || controller.resume())
  }

  finish(): Outcome {
    this.#open()
    this.#options.sink.end()
    return this.#outcome('completed')
  }

  interrupt(_error: AppError): Outcome | undefined {
    if (this.#firstContentMs === undefined) return undefined
    const { sink } = this.#options
    if (sink.cut) sink.cut()
    else sink.end()
    return this.#outcome('failed')
  }

  disconnected(): Outcome {
    return this.#outcome('aborted')
  }

  stop(): void {
    this.#isStopped = true
  }

  #open(): void {
    if (this.#firstContentMs !== undefined) return
    const { attempt, head, sink } = this.#options
    this.#firstContentMs = performance.now() - attempt.startedMs
    sink.head(head.status, { ...head.headers, ...streamHeaders })
  }

  #outcome(outcome: Outcome['outcome']): Outcome {
    const status = this.#firstContentMs === undefined ? undefined : this.#options.head.status
    return { outcome, status, stopReason: undefined, ...this.#options.counts(), firstContentMs: this.#firstContentMs }
  }
}
