import { sseReader } from '../../../contract/sse.ts'
import { isRecord, type Json, jsonOr } from '../../platform/json.ts'
import type { UpstreamFrame } from '../core/codec.ts'

interface SplitterOptions {
  /**
   * Maximum bytes of a frame that is buffered across chunks; the middle of a longer one is dropped. 64 KiB by default.
   */
  readonly maxBytes?: number
  /** Called when a frame is longer. */
  readonly onLong?: () => void
}

const defaultMaxBytes = 64 * 1024
/**
 * Bytes that are kept of a longer frame: its name is at the start, and OpenAI's usage near the end, partly before the
 * list of tools.
 */
const headBytes = 256
const tailBytes = 64 * 1024
const nothing = Buffer.alloc(0)
const byteOrderMark = Buffer.from('\uFEFF')

/**
 * Splits a stream of server-sent events into frames, each with the empty line that ends it. LF, CRLF and CR end a line.
 * Memory is bounded by one frame.
 */
export class FrameSplitter {
  readonly #onFrame: (frame: Buffer) => void
  readonly #maxBytes: number
  readonly #onLong: (() => void) | undefined
  #rest: Buffer = nothing
  /** Start of a frame whose middle was dropped. */
  #head: Buffer | undefined
  #isFirst = true

  constructor(onFrame: (frame: Buffer) => void, { maxBytes = defaultMaxBytes, onLong }: SplitterOptions = {}) {
    this.#onFrame = onFrame
    this.#onLong = onLong
    this.#maxBytes = maxBytes
  }

  /** Reads the next bytes. Returns how many of them belong to complete frames; 0 when no frame ends in them. */
  push(chunk: Buffer): number {
    const before = this.#rest.length
    const bytes = before === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    // Nearly all streams have no CR, and one native search shows it.
    const frameEnd = bytes.includes(cr) ? anyFrameEnd : plainFrameEnd
    let from = 0
    // Bytes of earlier chunks hold at most the start of an empty line.
    const searchFrom = Math.max(0, before - windowsBlankLine.length + 1)
    for (let end = frameEnd(bytes, searchFrom); end > 0; end = frameEnd(bytes, from)) {
      this.#emit(bytes.subarray(from, end))
      from = end
    }
    if (from === bytes.length) this.#rest = nothing
    else this.#keep(from === 0 && before > 0 ? bytes : Buffer.from(bytes.subarray(from)))
    return from === 0 ? 0 : from - before
  }

  /** Emits the bytes after the last empty line as a frame. */
  finish(): void {
    if (this.#rest.length > 0) this.#emit(this.#rest)
    this.#rest = nothing
  }

  #emit(frame: Buffer): void {
    const whole = this.#head ? Buffer.concat([this.#head, frame]) : frame
    this.#head = undefined
    const isMarked = this.#isFirst && whole.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    this.#isFirst = false
    this.#onFrame(isMarked ? whole.subarray(byteOrderMark.length) : whole)
  }

  /** Buffers `rest`, which must be a copy so that its chunk, which may be large, can be freed. */
  #keep(rest: Buffer): void {
    const isLong = rest.length > this.#maxBytes || (this.#head !== undefined && rest.length > tailBytes)
    if (isLong && !this.#head) {
      this.#head = Buffer.from(rest.subarray(0, headBytes))
      this.#onLong?.()
    }
    this.#rest = isLong ? Buffer.from(rest.subarray(-tailBytes)) : rest
  }
}

const blankLine = Buffer.from('\n\n')
const windowsBlankLine = Buffer.from('\n\r\n')
const oldBlankLine = Buffer.from('\r\r')

const cr = 0x0d

/** Returns the offset after the first empty line of bytes without a CR; 0 without one. */
function plainFrameEnd(bytes: Buffer, from: number): number {
  const plain = bytes.indexOf(blankLine, from)
  return plain < 0 ? 0 : plain + blankLine.length
}

/** Returns the offset after the first empty line; 0 without one. */
function anyFrameEnd(bytes: Buffer, from: number): number {
  const plain = bytes.indexOf(blankLine, from)
  // The other two line ends are searched only before the usual one, because a chunk may hold hundreds of frames.
  const before = plain < 0 ? bytes : bytes.subarray(0, plain + 1)
  const windows = before.indexOf(windowsBlankLine, from)
  const old = (windows < 0 ? before : before.subarray(0, windows + 1)).indexOf(oldBlankLine, from)
  if (old >= 0) return old + oldBlankLine.length
  if (windows >= 0) return windows + windowsBlankLine.length
  return plain < 0 ? 0 : plain + blankLine.length
}

/**
 * Buffers the last, incomplete frame of a stream, so that only complete frames are sent. An error frame or a ping can
 * then be inserted at any time. A frame longer than `maxBytes` is sent in parts. No byte is changed or lost.
 */
export class FrameTail {
  readonly #maxBytes: number
  #buffered: Buffer[] = []
  #bytes = 0
  /** True when the bytes sent so far end with a complete frame. */
  isBetweenFrames = true

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  /** Adds a chunk whose first `complete` bytes end complete frames. Returns the bytes to send now, in order. */
  take(chunk: Buffer, complete: number): readonly Buffer[] {
    if (complete === chunk.length && complete > 0) {
      this.isBetweenFrames = true
      return this.#buffered.length === 0 ? [chunk] : [...this.release(), chunk]
    }
    const ready: Buffer[] = complete > 0 ? [...this.release(), chunk.subarray(0, complete)] : []
    if (complete > 0) this.isBetweenFrames = true
    const tail = chunk.subarray(complete)
    this.#buffered.push(tail)
    this.#bytes += tail.length
    if (this.#bytes <= this.#maxBytes) return ready
    this.isBetweenFrames = false
    return [...ready, ...this.release()]
  }

  /** Returns and clears the buffered bytes. */
  release(): readonly Buffer[] {
    const buffered = this.#buffered
    this.#buffered = []
    this.#bytes = 0
    return buffered
  }
}

/** Returns event and data of a frame; undefined for one without data. Source: the HTML standard, section 9.2. */
export function readFrame(frame: Buffer): UpstreamFrame | undefined {
  const text = frame.toString()
  return usualFrame(text) ?? anyFrame(text)
}

/** Fast path for nearly all frames: one data line after at most one event line. */
function usualFrame(text: string): UpstreamFrame | undefined {
  const isNamed = text.startsWith('event: ')
  const nameEnd = isNamed ? text.indexOf('\n') : 0
  const dataAt = isNamed ? nameEnd + 1 : 0
  if (!text.startsWith('data: ', dataAt) || text.includes('\r')) return undefined
  const end = text.indexOf('\n', dataAt)
  if (end < 0 || end !== text.length - 2) return undefined
  return { event: isNamed ? text.slice(7, nameEnd) : undefined, data: text.slice(dataAt + 6, end) }
}

function anyFrame(text: string): UpstreamFrame | undefined {
  // The empty line at the end may be missing. The one at the start keeps the reader from skipping a byte order mark.
  for (const { event, data } of sseReader()(`\n${text}\n\n`)) return { event, data }
  return undefined
}

/** Returns the JSON object in a frame's data; undefined for any other data. */
export function dataOf(frame: Buffer): Json | undefined {
  const text = readFrame(frame)?.data.trim() ?? ''
  // Invalid JSON is not reported: the client receives the same bytes and handles them.
  const value = text === '' ? undefined : jsonOr(text, undefined)
  return isRecord(value) ? value : undefined
}
