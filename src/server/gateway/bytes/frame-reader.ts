import { jsonOr } from '../../platform/json.ts'
import type { Codec, UpstreamFrame } from '../core/codec.ts'
import { createAwsEventStream, EventStreamError } from './aws-event-stream.ts'
import { FrameSplitter, readFrame } from './event-frames.ts'

/** Frames of a chunk. `fault` ends the stream and completes the sentence "the upstream of model X ...". */
interface Reading {
  readonly frames: readonly UpstreamFrame[]
  readonly fault?: string
}

/** Reads an upstream's frames from chunks that are split at any place. */
export interface FrameReader {
  push(chunk: Buffer): Reading
  /** Returns a last frame without the empty line after it, which some upstreams omit; none for a truncated one. */
  finish(): readonly UpstreamFrame[]
}

/** Bytes of one frame: a longer one is an upstream error or an attack on memory. */
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
      return isTooLong ? { frames, fault: 'sent an event longer than 1 MiB' } : { frames }
    },
    finish() {
      frames = []
      splitter.finish()
      return frames.filter(({ data }) => data.trim() === '[DONE]' || jsonOr(data, undefined) !== undefined)
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
        return { frames: error.frames, fault: 'sent bytes that are not an event stream' }
      }
    },
    finish: () => [],
  }
}
