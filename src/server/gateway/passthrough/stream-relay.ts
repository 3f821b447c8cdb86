import type { Dispatcher } from 'undici'
import type { ErrorCode } from '../../../contract/error-codes.ts'
import { anthropicError } from '../../../contract/errors.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { FrameTail } from '../bytes/event-frames.ts'
import type { Sink } from '../core/call.ts'
import type { ClientError, PassthroughFormat, UsageTap } from './passthrough-format.ts'

interface Options {
  readonly format: PassthroughFormat
  readonly sink: Sink
  /** Sends the head of the answer. */
  readonly open: () => void
  /** Removes the credential from an upstream's error; returns the same buffer when there is none. */
  readonly scrub: (bytes: Buffer) => Buffer
  /** Milliseconds without data to the client after which a ping is sent. */
  readonly pingAfterMs: number
  /** Milliseconds for which a stream without content is buffered. */
  readonly bufferMs: number
  /** True: content that may be only a refusal to answer is buffered too, for the same time. */
  readonly buffersDeclined: boolean
  /** Called once, when the first content is sent. */
  readonly onFirstContent: () => void
}

/**
 * How an upstream's stream ended. `failed`: with an error that the client has received. `failed_early`: with an error
 * before anything was sent. `declined`: with only a refusal to answer, before anything was sent. `truncated`: without
 * an end.
 */
type StreamEnd = 'complete' | 'failed' | 'failed_early' | 'declined' | 'truncated'

/** A stream with more bytes than this before its first content is sent to the client anyway. */
const maxBufferedBytes = 64 * 1024
const emptyLine = Buffer.from('\n\n')

/**
 * Relays an upstream's events to the sink unchanged, with back-pressure, and sends pings during silence. Head and bytes
 * are buffered until the first content, so that an earlier error can be retried elsewhere. Source: Gateway, section 3.
 */
export class StreamRelay {
  readonly tap: UsageTap
  readonly #options: Options
  readonly #tail = new FrameTail()
  readonly #unwrap: ((chunk: Buffer) => readonly Buffer[]) | undefined
  /** Ends the hold-back window; after that it fires for pings. */
  #timer: NodeJS.Timeout
  #buffered: Buffer[] = []
  #bufferedBytes = 0
  #isOpen = false
  #isBlocked = false
  #hadContent = false
  /** Controller of the upstream's response, set by the first data. */
  #controller: Dispatcher.DispatchController | undefined

  constructor(options: Options) {
    this.#options = options
    this.tap = options.format.createTap()
    this.#unwrap = options.format.createUnwrap?.()
    this.#timer = setTimeout(() => this.#onWindowEnd(), options.bufferMs)
    this.#timer.unref()
  }

  /** True once the head was sent: from then on errors can only be reported in the stream. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Returns false when the upstream failed before anything was sent. Throws for bytes with wrong framing. */
  push(controller: Dispatcher.DispatchController, chunk: Buffer): boolean {
    this.#controller = controller
    const ready = this.#scrubbed(this.#completeFrames(chunk))
    if (this.#isOpen) {
      if (!this.#send(ready)) this.#block()
      return true
    }
    this.#buffer(ready)
    const { end, isUnderWay } = this.tap
    if (end === 'error' && !isUnderWay) return false
    const isShown = this.#options.buffersDeclined ? this.tap.isAnswering : isUnderWay || end === 'stop'
    if ((isShown || this.#bufferedBytes > maxBufferedBytes) && !this.#open()) this.#block()
    return true
  }

  /** Reads the usage of chunks that came after the client disconnected. */
  readUsage(chunks: readonly Buffer[]): void {
    try {
      for (const chunk of chunks) this.#completeFrames(chunk)
    } catch {
      // Bytes with wrong framing hold no usage.
    }
  }

  /**
   * Handles the end of the upstream's stream. The caller must still report the other ends than `complete` and `failed`.
   */
  finish(): StreamEnd {
    const { tap } = this
    const wasOver = tap.end !== undefined
    tap.finish()
    const rest = this.#scrubbed(this.#tail.release())
    if (tap.end === undefined) return 'truncated'
    if (!this.#isOpen) {
      if (tap.end === 'error' && !tap.isUnderWay) return 'failed_early'
      if (this.#options.buffersDeclined && tap.hasDeclined && !tap.isAnswering) return 'declined'
      this.#open()
    }
    this.stop()
    this.#send(rest)
    // Clients ignore a last frame without its empty line, and some upstreams omit that line.
    const isUnterminated = !wasOver && rest.length > 0
    this.#options.sink.end(isUnterminated ? emptyLine : undefined)
    return tap.end === 'error' ? 'failed' : 'complete'
  }

  /**
   * Ends the stream after the connection to the upstream was lost: with an error frame unless it was complete already.
   */
  interrupt(failure: ClientError): void {
    this.stop()
    const { format, sink } = this.#options
    if (this.tap.end !== undefined) {
      sink.end()
      return
    }
    const frame = format.failure(failure, this.tap.frames)
    // Part of a frame too long to buffer was sent: an empty line ends it, else the error would become part of it.
    sink.end(this.#tail.isBetweenFrames ? frame : Buffer.concat([emptyLine, frame]))
  }

  /** Stops the timers. Nothing is sent after this. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Feeds a chunk to the tap and returns the complete frames. */
  #completeFrames(chunk: Buffer): readonly Buffer[] {
    if (!this.#unwrap) return this.#tail.take(chunk, this.tap.push(chunk))
    return this.#unwrap(chunk).flatMap(frames => this.#tail.take(frames, this.tap.push(frames)))
  }

  /**
   * Removes the credential, which an error may repeat. The pieces are joined first: the credential may span two of
   * them.
   */
  #scrubbed(pieces: readonly Buffer[]): readonly Buffer[] {
    const isError = this.tap.end === 'error' && pieces.length > 0
    return isError ? [this.#options.scrub(Buffer.concat(pieces))] : pieces
  }

  #buffer(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      this.#buffered.push(piece)
      this.#bufferedBytes += piece.length
    }
  }

  /** Sends the head and the buffered bytes. */
  #open(): boolean {
    this.#isOpen = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onSilence(), this.#options.pingAfterMs)
    this.#timer.unref()
    this.#options.open()
    const buffered = this.#buffered
    this.#buffered = []
    return this.#send(buffered.length > 1 ? [Buffer.concat(buffered)] : buffered)
  }

  #send(pieces: readonly Buffer[]): boolean {
    let hasRoom = true
    for (const piece of pieces) hasRoom = this.#options.sink.data(piece)
    if (pieces.length > 0) this.#timer.refresh()
    if (!this.#hadContent && this.tap.hasContent) {
      this.#hadContent = true
      this.#options.onFirstContent()
    }
    return hasRoom
  }

  #onWindowEnd(): void {
    if (!this.#open()) this.#block()
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

  #onSilence(): void {
    const { tap } = this
    if (tap.takesPings && tap.end === undefined && this.#tail.isBetweenFrames && !this.#isBlocked) {
      this.#options.sink.data(this.#options.format.ping)
    }
    this.#timer.refresh()
  }
}

/** Ping in Anthropic's format. */
export const pingFrame: Buffer = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

interface StreamError {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** Returns the error frame that ends an interrupted stream in Anthropic's format. */
export const errorFrame = ({ code, message, requestId }: StreamError): Buffer =>
  Buffer.from(sseFrame({ event: 'error', data: JSON.stringify(anthropicError(code, message, requestId)) }))
