import type { Controller } from '../upstream/exchange.ts'
import type { Sink } from './call.ts'

interface Options {
  readonly sink: Sink
  /** Sends the head of the answer. */
  readonly open: () => void
  /** What covers a silent upstream, in the client's format. */
  readonly ping: () => string
  /** Silence toward the client after which a ping goes out. */
  readonly pingAfterMs: number
  /** How long frames without content wait for the first with some. */
  readonly holdBackMs: number
}

/**
 * The frames of one answer on their way to the client: held until there is content, then written once a chunk, with
 * back-pressure, and with pings when there is nothing to say.
 */
export class HeldFrames {
  readonly #options: Options
  readonly #silence: NodeJS.Timeout
  #window: NodeJS.Timeout | undefined
  /** Of the upstream, once it has sent anything. */
  #controller: Controller | undefined
  #text = ''
  #isOpen = false
  #isReleased = false
  #isBlocked = false
  #isStopped = false

  constructor(options: Options) {
    this.#options = options
    this.#silence = setTimeout(this.#onSilence, options.pingAfterMs)
    this.#silence.unref()
  }

  /** True once the head is out: what happens now can only be told in the stream. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  add(frame: string): void {
    this.#text += frame
    // The window opens with the first frame: before it there is nothing that could be shown.
    if (!this.#isReleased && !this.#isStopped && this.#window === undefined) {
      this.#window = setTimeout(this.#onWindowEnd, this.#options.holdBackMs)
      this.#window.unref()
    }
  }

  /** From now on frames are not held any more. */
  release(): void {
    this.#isReleased = true
  }

  /** Writes what is there; an upstream that is faster than the client is paused. */
  flush(controller: Controller): void {
    this.#controller = controller
    if (this.#isReleased && !this.#write()) this.#block()
  }

  #block(): void {
    const controller = this.#controller
    if (this.#isBlocked || !controller) return
    this.#isBlocked = true
    controller.pause()
    this.#options.sink.onDrain(() => {
      this.#isBlocked = false
      controller.resume()
    })
  }

  /** Writes what is there and ends the answer. */
  end(): void {
    this.stop()
    this.#openOnce()
    this.#options.sink.end(this.#text === '' ? undefined : Buffer.from(this.#text))
    this.#text = ''
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#silence)
    clearTimeout(this.#window)
  }

  #write(): boolean {
    if (this.#text === '') return true
    this.#openOnce()
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    this.#silence.refresh()
    return this.#options.sink.data(bytes)
  }

  #openOnce(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    clearTimeout(this.#window)
    this.#options.open()
  }

  readonly #onWindowEnd = (): void => {
    this.#isReleased = true
    // Formats that say nothing at the start of an answer get its head now.
    this.#openOnce()
    if (!this.#write()) this.#block()
  }

  readonly #onSilence = (): void => {
    if (this.#isOpen && !this.#isBlocked) this.#options.sink.data(Buffer.from(this.#options.ping()))
    this.#silence.refresh()
  }
}
