import { isRecord, type Json, jsonOr } from '../../platform/json.ts'

/** Hands over the frames of a stream of server-sent events, one by one. */
export interface FrameSplitter {
  push(chunk: Buffer): void
  /** Hands over what is left after the last empty line. */
  finish(): void
}

/** The longest frame that is put together across chunks. */
const maxFrameBytes = 64 * 1024
/** What is kept of a longer one: its name stands at the start, and OpenAI's usage near the end. */
const headBytes = 256
const tailBytes = 16 * 1024
const nothing = Buffer.alloc(0)

/**
 * Cuts at empty lines, whatever ends a line: LF, CRLF or CR. A frame that came in pieces and is too long to be kept is
 * handed over without its middle. Memory is bounded by one frame.
 */
export function createFrameSplitter(onFrame: (frame: Buffer) => void): FrameSplitter {
  let rest: Buffer = nothing
  let head: Buffer | undefined

  const hand = (frame: Buffer): void => {
    onFrame(head ? Buffer.concat([head, frame]) : frame)
    head = undefined
  }

  return {
    push(chunk) {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      // Nearly all streams have no CR at all, and one native search tells.
      const frameEnd = bytes.includes(cr) ? anyFrameEnd : plainFrameEnd
      for (let cut = frameEnd(bytes); cut > 0; cut = frameEnd(bytes)) {
        hand(bytes.subarray(0, cut))
        bytes = bytes.subarray(cut)
      }
      if (bytes.length > maxFrameBytes || (head && bytes.length > tailBytes)) {
        head ??= Buffer.from(bytes.subarray(0, headBytes))
        bytes = bytes.subarray(-tailBytes)
      }
      // A copy: the chunk that it is part of may be large.
      rest = bytes.length === 0 ? nothing : Buffer.from(bytes)
    },
    finish() {
      if (rest.length > 0) hand(rest)
      rest = nothing
    },
  }
}

const blankLine = Buffer.from('\n\n')
const windowsBlankLine = Buffer.from('\n\r\n')
const oldBlankLine = Buffer.from('\r\r')

const cr = 0x0d

/** The place after the first empty line of bytes without a CR, 0 without one. */
function plainFrameEnd(bytes: Buffer): number {
  const plain = bytes.indexOf(blankLine)
  return plain < 0 ? 0 : plain + blankLine.length
}

/** The place after the first empty line, 0 without one. */
function anyFrameEnd(bytes: Buffer): number {
  const plain = bytes.indexOf(blankLine)
  // The other two are searched only before the usual one: a chunk may hold hundreds of frames.
  const before = plain < 0 ? bytes : bytes.subarray(0, plain + 1)
  const windows = before.indexOf(windowsBlankLine)
  const old = (windows < 0 ? before : before.subarray(0, windows + 1)).indexOf(oldBlankLine)
  if (old >= 0) return old + oldBlankLine.length
  if (windows >= 0) return windows + windowsBlankLine.length
  return plain < 0 ? 0 : plain + blankLine.length
}

/** The text of a frame's data lines; empty without any. */
export function dataText(frame: Buffer): string {
  const lines = frame.toString('utf8').split(/\r\n|\n|\r/)
  const data = lines.filter(line => line.startsWith('data:')).map(line => line.slice(5))
  return data.join('\n').trim()
}

/** The JSON object of a frame's data lines; undefined when it is none. */
export function dataOf(frame: Buffer): Json | undefined {
  const text = dataText(frame)
  // The client sees the very same bytes: judging what is no JSON is its business, a tap only reads along.
  const value = text === '' ? undefined : jsonOr(text, undefined)
  return isRecord(value) ? value : undefined
}
