import { sseReader } from '../../../contract/sse.ts'
import type { Codec, UpstreamFrame } from '../core/codec.ts'
import { createAwsEventStream, EventStreamError } from './aws-event-stream.ts'

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
  const decode = createTextDecoder()
  const readAny = sseReader({ maxLength: maxLineLength })
  /** True where a frame has just ended; the first chunk may begin with a byte order mark. */
  let isBetweenFrames = false

  /** Reads whole frames of the usual spelling, and says where what it did not read begins. */
  const readUsual = (text: string, frames: UpstreamFrame[]): number => {
    let from = 0
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', from)) {
      const frame = usualFrame(text, from, end)
      if (!frame) return from
      frames.push(frame)
      from = end + 2
    }
    return from
  }

  return {
    push(chunk) {
      const text = decode(chunk)
      const frames: UpstreamFrame[] = []
      const from = isBetweenFrames && !text.includes('\r') ? readUsual(text, frames) : 0
      if (from === text.length) return { frames }
      isBetweenFrames = text.endsWith('\n\n')
      try {
        for (const { event, data } of readAny(text.slice(from))) frames.push({ event, data })
        return { frames }
      } catch {
        // The only thing that the reader throws for is length.
        return { frames, fault: 'sent a line that is too long' }
      }
    },
  }
}

/** The frame between two places if it has one data line and at most an event line before it, as nearly all do. */
function usualFrame(text: string, from: number, end: number): UpstreamFrame | undefined {
  const isNamed = text.startsWith('event: ', from)
  const nameEnd = isNamed ? text.indexOf('\n', from) : from
  const dataAt = isNamed ? nameEnd + 1 : from
  if (!text.startsWith('data: ', dataAt) || text.indexOf('\n', dataAt) !== end) return undefined
  return { event: isNamed ? text.slice(from + 7, nameEnd) : undefined, data: text.slice(dataAt + 6, end) }
}

/** Decodes UTF-8 that may be cut within a character; chunks that end with a plain one take the short way. */
function createTextDecoder(): (chunk: Buffer) => string {
  // Only the reader of frames knows where a stream begins: a mark anywhere else is text.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let isWithinCharacter = false
  return chunk => {
    const endsPlainly = (chunk.at(-1) ?? 0) < 0x80
    const isWhole = !isWithinCharacter && endsPlainly
    isWithinCharacter = !endsPlainly
    return isWhole ? chunk.toString() : decoder.decode(chunk, { stream: true })
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
