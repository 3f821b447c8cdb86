import type { Dispatcher } from 'undici'

type Controller = Dispatcher.DispatchController

export interface AnswerHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Body of an answer. It is read once, part by part. */
export interface AnswerBody extends AsyncIterable<Buffer> {
  /** Ends the reading, with an error if there is one, and closes the connection unless the body has ended. */
  destroy(error?: Error): void
}

/** Bytes that wait for their reader before the connection is paused. */
const maxWaitingBytes = 64 * 1024

/**
 * The answer to one request of undici, without the cost of a Node stream, which forwarding does not need. `head` settles once: it
 * rejects with the error of the connection, or with the reason of the signal.
 */
export class ArrivingAnswer implements Dispatcher.DispatchHandler, AnswerBody {
  readonly head: Promise<AnswerHead>
  readonly #begin: (head: AnswerHead) => void
  readonly #reject: (error: unknown) => void
  readonly #signal: AbortSignal
  #controller: Controller | undefined
  #chunks: Buffer[] = []
  #waitingBytes = 0
  #isOver = false
  #error: { readonly cause: unknown } | undefined
  /** Continues a reader that waits for the next part. */
  #wake: (() => void) | undefined

  constructor(signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<AnswerHead>()
    this.head = promise
    this.#begin = resolve
    this.#reject = reject
    this.#signal = signal
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#error) controller.abort(asError(this.#error.cause))
  }

  onResponseStart(_controller: Controller, status: number, headers: AnswerHead['headers']): void {
    if (status >= 200) this.#begin({ status, headers })
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isOver) return
    this.#chunks.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#waitingBytes > maxWaitingBytes) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#end(undefined)
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#end({ cause: error })
  }

  destroy(error: Error = new Error('the rest of the answer is not needed')): void {
    this.#abort(error)
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer, undefined> {
    return {
      next: () => this.#next(),
      return: () => {
        this.destroy()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  async #next(): Promise<IteratorResult<Buffer, undefined>> {
    while (this.#chunks.length === 0 && !this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    const chunk = this.#chunks.shift()
    if (chunk) {
      this.#waitingBytes -= chunk.length
      if (this.#controller?.paused && this.#waitingBytes <= maxWaitingBytes) this.#controller.resume()
      return { done: false, value: chunk }
    }
    if (this.#error) throw this.#error.cause
    return { done: true, value: undefined }
  }

  readonly #onAbort = (): void => this.#abort(this.#signal.reason)

  #abort(cause: unknown): void {
    if (this.#isOver) return
    this.#chunks = []
    this.#end({ cause })
    this.#controller?.abort(asError(cause))
  }

  #end(error: { readonly cause: unknown } | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#signal.removeEventListener('abort', this.#onAbort)
    if (error) this.#reject(error.cause)
    this.#wake?.()
  }
}

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))
