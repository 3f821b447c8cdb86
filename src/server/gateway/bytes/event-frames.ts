import { sseReader } from '../../../contract/sse.ts'
import { isRecord, type Json, jsonOr } from '../../platform/json.ts'
import type { UpstreamFrame } from '../core/codec.ts'

interface SplitterOptions {
  /** The longest frame that is put together across chunks; a longer one comes without its middle. 64 KiB unless given. */
  readonly maxBytes?: number
  /** Hears of it when a frame is longer. */
  readonly onLong?: () => void
}

const defaultMaxBytes = 64 * 1024
/** What is kept of a longer one: its name stands at the start, and OpenAI's usage near the end. */
const headBytes = 256
const tailBytes = 16 * 1024
const nothing = Buffer.alloc(0)
const byteOrderMark = Buffer.from('\uFEFF')

/**
 * Cuts a stream of server-sent events into its frames, each with the empty line at its end: LF, CRLF or CR end a line.
 * Memory is bounded by one frame.
 */
export class FrameSplitter {
  readonly #onFrame: (frame: Buffer) => void
  readonly #maxBytes: number
  readonly #onLong: (() => void) | undefined
  #rest: Buffer = nothing
  /** The beginning of a frame that lost its middle. */
  #head: Buffer | undefined
  #isFirst = true

  constructor(onFrame: (frame: Buffer) => void, { maxBytes = defaultMaxBytes, onLong }: SplitterOptions = {}) {
    this.#onFrame = onFrame
    this.#onLong = onLong
    this.#maxBytes = maxBytes
  }

  /** Takes the next bytes. How many of them belong to frames that are whole now; 0 when no frame ends among them. */
  push(chunk: Buffer): number {
    const before = this.#rest.length
    const bytes = before === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    // Nearly all streams have no CR at all, and one native search tells.
    const frameEnd = bytes.includes(cr) ? anyFrameEnd : plainFrameEnd
    let from = 0
    // What was searched before holds at most the beginning of an empty line.
    const searchFrom = Math.max(0, before - windowsBlankLine.length + 1)
    for (let end = frameEnd(bytes, searchFrom); end > 0; end = frameEnd(bytes, from)) {
      this.#hand(bytes.subarray(from, end))
      from = end
    }
    if (from === bytes.length) this.#rest = nothing
    else this.#keep(from === 0 && before > 0 ? bytes : Buffer.from(bytes.subarray(from)))
    return from === 0 ? 0 : from - before
  }

  /** Hands over what is left after the last empty line. */
  finish(): void {
    if (this.#rest.length > 0) this.#hand(this.#rest)
    this.#rest = nothing
  }

  #hand(frame: Buffer): void {
    const whole = this.#head ? Buffer.concat([this.#head, frame]) : frame
    this.#head = undefined
    const isMarked = this.#isFirst && whole.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    this.#isFirst = false
    this.#onFrame(isMarked ? whole.subarray(byteOrderMark.length) : whole)
  }

  /** Keeps bytes that are a copy: the chunk that they were part of may be large. */
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

/** The place after the first empty line of bytes without a CR, 0 without one. */
function plainFrameEnd(bytes: Buffer, from: number): number {
  const plain = bytes.indexOf(blankLine, from)
  return plain < 0 ? 0 : plain + blankLine.length
}

/** The place after the first empty line, 0 without one. */
function anyFrameEnd(bytes: Buffer, from: number): number {
  const plain = bytes.indexOf(blankLine, from)
  // The other two are searched only before the usual one: a chunk may hold hundreds of frames.
  const before = plain < 0 ? bytes : bytes.subarray(0, plain + 1)
  const windows = before.indexOf(windowsBlankLine, from)
  const old = (windows < 0 ? before : before.subarray(0, windows + 1)).indexOf(oldBlankLine, from)
  if (old >= 0) return old + oldBlankLine.length
  if (windows >= 0) return windows + windowsBlankLine.length
  return plain < 0 ? 0 : plain + blankLine.length
}

/**
 * What of a stream goes out while its last frame is still coming: whole frames. No reader can use the rest yet; so a break
 * can be told in a clean frame of its own, and a ping fits in at any time. A frame longer than `maxBytes` goes out in parts.
 * No byte is changed or lost.
 */
export class HeldTail {
  readonly #maxBytes: number
  #held: Buffer[] = []
  #bytes = 0
  /** True when all that went out so far ends with a whole frame. */
  isBetweenFrames = true

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  /** Takes the next bytes, of which so many belong to whole frames; returns those that may go out now, in order. */
  take(chunk: Buffer, whole: number): readonly Buffer[] {
    if (whole === chunk.length && whole > 0) {
      this.isBetweenFrames = true
      return this.#held.length === 0 ? [chunk] : [...this.release(), chunk]
    }
    const ready: Buffer[] = whole > 0 ? [...this.release(), chunk.subarray(0, whole)] : []
    if (whole > 0) this.isBetweenFrames = true
    const tail = chunk.subarray(whole)
    this.#held.push(tail)
    this.#bytes += tail.length
    if (this.#bytes <= this.#maxBytes) return ready
    this.isBetweenFrames = false
    return [...ready, ...this.release()]
  }

  /** The bytes that still wait for the rest of their frame. */
  release(): readonly Buffer[] {
    const held = this.#held
    this.#held = []
    this.#bytes = 0
    return held
  }
}

/** Event and data of a frame; undefined for one without data. Source: the HTML standard, section 9.2. */
export function readFrame(frame: Buffer): UpstreamFrame | undefined {
  const text = frame.toString()
  return usualFrame(text) ?? anyFrame(text)
}

/** For a frame that has one data line and at most an event line before it, as nearly all do. */
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
  // The empty line at the end may be missing. That at the start says that a byte order mark in front is no mark here.
  for (const { event, data } of sseReader()(`\n${text}\n\n`)) return { event, data }
  return undefined
}

/** The JSON object that a frame's data is; undefined for any other data. */
export function dataOf(frame: Buffer): Json | undefined {
  const text = readFrame(frame)?.data.trim() ?? ''
  // The client sees the very same bytes: judging what is no JSON is its business, a tap only reads along.
  const value = text === '' ? undefined : jsonOr(text, undefined)
  return isRecord(value) ? value : undefined
}
