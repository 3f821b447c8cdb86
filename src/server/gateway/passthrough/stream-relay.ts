import type { Dispatcher } from 'undici'
import { anthropicError, type ErrorCode } from '../../../contract/errors.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { HeldTail } from '../bytes/event-frames.ts'
import type { Sink } from '../core/call.ts'
import type { UsageTap, Wire, WireFailure } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly sink: Sink
  /** Sends the head of the answer. */
  readonly open: () => void
  /** Takes the credential out of an upstream's error; the very same bytes where it does not stand. */
  readonly scrub: (bytes: Buffer) => Buffer
  /** Silence toward the client after which a ping goes out. */
  readonly pingAfterMs: number
  /** How long a stream without content is held back. */
  readonly holdBackMs: number
  /** True: what may be no more than a refusal to answer is held too, as long as the window. */
  readonly holdsRefusals: boolean
  /** Called once, when the first content goes out. */
  readonly onFirstContent: () => void
}

/**
 * How an upstream's stream ended: `failed` with an error that the client has seen, `refused` with one before anything was
 * out, `declined` with nothing but a refusal to answer, and nothing out, `cut` without any end.
 */
type StreamEnd = 'whole' | 'failed' | 'refused' | 'declined' | 'cut'

/** A stream that shows no content for longer than this is passed on all the same. */
const maxHeldBytes = 64 * 1024
const emptyLine = Buffer.from('\n\n')

/**
 * Passes an upstream's events on to the sink, unchanged, with back-pressure, and pings when it is silent. Head and bytes
 * are held until an answer shows: an error before it is not told to the client. Source: Gateway, section 3.
 */
export class StreamRelay {
  readonly tap: UsageTap
  readonly #options: Options
  readonly #tail = new HeldTail()
  readonly #unwrap: ((chunk: Buffer) => readonly Buffer[]) | undefined
  /** Ends the hold-back window; later it watches over the silence. */
  #timer: NodeJS.Timeout
  #held: Buffer[] = []
  #heldBytes = 0
  #isOpen = false
  #isBlocked = false
  #hadContent = false
  /** Of the upstream, once it has sent anything. */
  #controller: Dispatcher.DispatchController | undefined

  constructor(options: Options) {
    this.#options = options
    this.tap = options.wire.createTap()
    this.#unwrap = options.wire.createUnwrap?.()
    this.#timer = setTimeout(() => this.#onWindowEnd(), options.holdBackMs)
    this.#timer.unref()
  }

  /** True once the head is out: what happens now can only be told in the stream. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** False when the upstream has failed with nothing out yet. Throws for bytes that are not in the wire's framing. */
  push(controller: Dispatcher.DispatchController, chunk: Buffer): boolean {
    this.#controller = controller
    const ready = this.#cleaned(this.#ready(chunk))
    if (this.#isOpen) {
      if (!this.#send(ready)) this.#block()
      return true
    }
    this.#hold(ready)
    const { end, isUnderWay } = this.tap
    if (end === 'error' && !isUnderWay) return false
    const isShown = this.#options.holdsRefusals ? this.tap.isAnswering : isUnderWay || end === 'stop'
    if ((isShown || this.#heldBytes > maxHeldBytes) && !this.#open()) this.#block()
    return true
  }

  /** Reads what nobody waits for any more, for its usage. */
  readOn(chunks: readonly Buffer[]): void {
    try {
      for (const chunk of chunks) this.#ready(chunk)
    } catch {
      // Bytes that are not in the wire's framing state nothing.
    }
  }

  /** The upstream is done. When whole or failed, the client has its end; it must still be told that its stream was cut. */
  finish(): StreamEnd {
    const { tap } = this
    const wasOver = tap.end !== undefined
    tap.finish()
    const rest = this.#cleaned(this.#tail.release())
    if (tap.end === undefined) return 'cut'
    if (!this.#isOpen) {
      if (tap.end === 'error' && !tap.isUnderWay) return 'refused'
      if (this.#options.holdsRefusals && tap.hasDeclined && !tap.isAnswering) return 'declined'
      this.#open()
    }
    this.stop()
    this.#send(rest)
    // The upstream's last frame may lack its empty line, and without that no client reads it.
    const isMended = !wasOver && rest.length > 0
    this.#options.sink.end(isMended ? emptyLine : undefined)
    return tap.end === 'error' ? 'failed' : 'whole'
  }

  /** The upstream is lost: one frame tells of it, then the end. A stream that was whole already just ends. */
  breakOff(failure: WireFailure): void {
    this.stop()
    const { wire, sink } = this.#options
    if (this.tap.end !== undefined) {
      sink.end()
      return
    }
    const frame = wire.failure(failure, this.tap.frames)
    // A frame too long to be held is out in part: an empty line closes it, or the error would become a part of it.
    sink.end(this.#tail.isBetweenFrames ? frame : Buffer.concat([emptyLine, frame]))
  }

  /** Stops the timers; nothing more goes out. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Shows a chunk to the tap; what of it may go out. */
  #ready(chunk: Buffer): readonly Buffer[] {
    if (!this.#unwrap) return this.#tail.take(chunk, this.tap.push(chunk))
    return this.#unwrap(chunk).flatMap(frames => this.#tail.take(frames, this.tap.push(frames)))
  }

  /** What comes with an error may repeat the credential. It is in one piece then, so that no cut hides it. */
  #cleaned(pieces: readonly Buffer[]): readonly Buffer[] {
    const isError = this.tap.end === 'error' && pieces.length > 0
    return isError ? [this.#options.scrub(Buffer.concat(pieces))] : pieces
  }

  #hold(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      this.#held.push(piece)
      this.#heldBytes += piece.length
    }
  }

  /** Sends the head and all that was held. */
  #open(): boolean {
    this.#isOpen = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#onSilence(), this.#options.pingAfterMs)
    this.#timer.unref()
    this.#options.open()
    const held = this.#held
    this.#held = []
    return this.#send(held.length > 1 ? [Buffer.concat(held)] : held)
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
      this.#options.sink.data(this.#options.wire.ping)
    }
    this.#timer.refresh()
  }
}

/** A ping as Anthropic sends it. */
export const pingFrame: Buffer = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

interface StreamError {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** The one frame that tells a client that its stream broke. Nothing follows it. */
export const errorFrame = ({ code, message, requestId }: StreamError): Buffer =>
  Buffer.from(sseFrame({ event: 'error', data: JSON.stringify(anthropicError(code, message, requestId)) }))
