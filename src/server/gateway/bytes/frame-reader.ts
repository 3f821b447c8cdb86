import type { Codec, UpstreamFrame } from '../core/codec.ts'
import { createAwsEventStream, EventStreamError } from './aws-event-stream.ts'
import { FrameSplitter, readFrame } from './event-frames.ts'

/** What a chunk held. A fault ends the stream: the rest of a sentence about the upstream. */
interface Reading {
  readonly frames: readonly UpstreamFrame[]
  readonly fault?: string
}

/** Takes an upstream's frames out of its bytes, which may be cut anywhere. */
export interface FrameReader {
  push(chunk: Buffer): Reading
}

/** Bytes of one frame; whoever sends more is broken, or wants our memory. Source: Reliability, F17. */
const maxFrameBytes = 1024 * 1024

export const createFrameReader = (framing: Codec['framing']): FrameReader =>
  framing === 'sse' ? createSseReader() : createAwsReader()

function createSseReader(): FrameReader {
  let frames: UpstreamFrame[] = []
  let isTooLong = false
  const splitter = new FrameSplitter(
    bytes => {
      if (isTooLong) return
      const frame = readFrame(bytes)
      if (frame) frames.push(frame)
    },
    {
      maxBytes: maxFrameBytes,
      onLong: () => {
        isTooLong = true
      },
    },
  )
  return {
    push(chunk) {
      frames = []
      splitter.push(chunk)
      return isTooLong ? { frames, fault: 'sent an event that is too long' } : { frames }
    },
  }
}

function createAwsReader(): FrameReader {
  const read = createAwsEventStream()
  return {
    push(chunk) {
      try {
        return { frames: read(chunk) }
      } catch (error) {
        if (!(error instanceof EventStreamError)) throw error
        return { frames: error.frames, fault: 'sent bytes that are no event stream' }
      }
    },
  }
}
