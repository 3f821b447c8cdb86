import { sseReader } from '../../../contract/sse.ts'
import { createAwsEventStream, EventStreamError } from '../upstream/aws-event-stream.ts'
import type { Codec, UpstreamFrame } from './codec.ts'

/** What a chunk held. A fault ends the stream: the rest of a sentence about the upstream. */
interface Reading {
  readonly frames: readonly UpstreamFrame[]
  readonly fault?: string
}

/** Takes an upstream's frames out of its bytes, which may be cut anywhere. */
export interface FrameReader {
  push(chunk: Buffer): Reading
}

/** Characters of one line; whoever sends more is broken, or wants our memory. Source: Reliability, F17. */
const maxLineLength = 1024 * 1024

export const createFrameReader = (framing: Codec['framing']): FrameReader =>
  framing === 'sse' ? createSseReader() : createAwsReader()

function createSseReader(): FrameReader {
  const decoder = new TextDecoder()
  const read = sseReader({ maxLength: maxLineLength })
  return {
    push(chunk) {
      const frames: UpstreamFrame[] = []
      try {
        for (const { event, data } of read(decoder.decode(chunk, { stream: true }))) frames.push({ event, data })
        return { frames }
      } catch {
        // The only thing that the reader throws for is length.
        return { frames, fault: 'sent a line that is too long' }
      }
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
