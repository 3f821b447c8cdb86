import type { Dispatcher } from 'undici'
import type { ErrorCode } from '../../../contract/errors.ts'
import type { Sink } from '../call.ts'
import { createFrameCutter } from './frame-cutter.ts'
import { errorFrame, pingFrame } from './stream-error.ts'
import { createUsageTap, type UsageTap } from './usage-tap.ts'

interface Options {
  readonly sink: Sink
  readonly requestId: string
  /** Silence toward the client after which a ping goes out. */
  readonly pingAfterMs: number
  /** Called once, when the first content goes out. */
  readonly onFirstContent: () => void
}

/** Passes an upstream's events on to the sink, unchanged, with back-pressure, and pings when it is silent. */
export interface StreamRelay {
  readonly tap: UsageTap
  push(controller: Dispatcher.DispatchController, chunk: Buffer): void
  /** The upstream is done. True when its stream was whole; otherwise the client was told of the break. */
  finish(): boolean
  /** The upstream is lost: one error frame, then the end. A stream that was whole already just ends. */
  breakOff(code: ErrorCode, message: string): void
  /** Stops the ping timer; nothing more goes out. */
  stop(): void
}

/** Starts a relay; the sink's head must be out. */
export function createStreamRelay({ sink, requestId, pingAfterMs, onFirstContent }: Options): StreamRelay {
  const tap = createUsageTap()
  const cutter = createFrameCutter()
  let isBlocked = false
  let hadContent = false

  const silence = setTimeout(() => {
    if (tap.hasStarted && tap.end === undefined && cutter.isBetweenFrames && !isBlocked) sink.data(pingFrame)
    silence.refresh()
  }, pingAfterMs)
  silence.unref()

  const send = (chunks: readonly Buffer[]): boolean => {
    let hasRoom = true
    for (const chunk of chunks) {
      tap.push(chunk)
      hasRoom = sink.data(chunk)
    }
    if (chunks.length > 0) silence.refresh()
    if (!hadContent && tap.hasContent) {
      hadContent = true
      onFirstContent()
    }
    return hasRoom
  }

  const breakOff = (code: ErrorCode, message: string): void => {
    clearTimeout(silence)
    const frame = errorFrame({ code, message, requestId })
    if (tap.end !== undefined) sink.end()
    // A frame too long to be held is out in part: an empty line closes it, or the error would become a part of it.
    else sink.end(cutter.isBetweenFrames ? frame : Buffer.concat([Buffer.from('\n\n'), frame]))
  }

  return {
    tap,
    breakOff,
    push(controller, chunk) {
      if (send(cutter.push(chunk)) || isBlocked) return
      isBlocked = true
      controller.pause()
      sink.onDrain(() => {
        isBlocked = false
        controller.resume()
      })
    },
    finish() {
      const isCut = tap.hasStarted && tap.end === undefined
      if (isCut) breakOff('upstream_unreachable', 'the upstream ended the stream before the message was complete')
      else {
        clearTimeout(silence)
        send(cutter.flush())
        sink.end()
      }
      return !isCut && tap.end !== 'error'
    },
    stop: () => clearTimeout(silence),
  }
}
