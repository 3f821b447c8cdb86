import type { Controller } from '../upstream/exchange.ts'
import type { Sink } from './call.ts'

interface Options {
  readonly sink: Sink
  /** Sends the head of the answer. */
  readonly open: () => void
  /** Returns a ping frame in the client's format. */
  readonly ping: () => string
  /** Silence toward the client after which a ping is sent. */
  readonly pingAfterMs: number
  /** How long frames without content are buffered. */
  readonly bufferMs: number
}

/**
 * Buffer of one answer's frames to the client. Frames are buffered until the first content, then written once per
 * chunk, with back-pressure, and with pings during silence.
 */
export class FrameBuffer {
  readonly #options: Options
  readonly #silence: NodeJS.Timeout
  #window: NodeJS.Timeout | undefined
  /** Controller of the upstream's response, once it has sent data. */
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

  /** True once the head was sent: a later failure can only be reported in the stream. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  add(frame: string): void {
    this.#text += frame
    // The hold-back window starts with the first frame: before it there is nothing to send.
    if (!this.#isReleased && !this.#isStopped && this.#window === undefined) {
      this.#window = setTimeout(this.#onWindowEnd, this.#options.bufferMs)
      this.#window.unref()
    }
  }

  /** Ends buffering: later frames are written at once. */
  release(): void {
    this.#isReleased = true
  }

  /** Writes the buffered frames. Pauses an upstream that is faster than the client. */
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

  /** Writes the buffered frames and ends the answer. */
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
    // In formats without a frame at the start, the head is sent now.
    this.#openOnce()
    if (!this.#write()) this.#block()
  }

  readonly #onSilence = (): void => {
    if (this.#isOpen && !this.#isBlocked) this.#options.sink.data(Buffer.from(this.#options.ping()))
    this.#silence.refresh()
  }
}
