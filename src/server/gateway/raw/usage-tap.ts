import { noTokens, type TokenCounts, withUsage } from '../counting/token-counts.ts'

/** Reads along with a stream of Anthropic's events without touching it; tells what it has said so far. */
export interface UsageTap {
  /** Looks at the next bytes; they may be cut anywhere. Never throws. */
  push(chunk: Buffer): void
  /** With a guess of the output, marked as such, until the stream has stated it. */
  readonly usage: TokenCounts
  readonly stopReason: string | undefined
  readonly hasStarted: boolean
  readonly hasContent: boolean
  /** How the stream ended: by `message_stop`, by an `error` event, or not yet. */
  readonly end: 'stop' | 'error' | undefined
}

/** The longest frame that is put together across chunks. Frames with usage are far shorter. */
const maxFrameBytes = 64 * 1024
/** About what one text delta costs around its text. */
const deltaOverheadBytes = 118
const bytesPerToken = 4
const nothing = Buffer.alloc(0)

/**
 * Searches the bytes for the few events that carry usage or end the stream, and parses only those. Memory is bounded by
 * one frame. Source: Gateway, section 2.1.
 */
export function createUsageTap(): UsageTap {
  let usage = noTokens
  let stopReason: string | undefined
  let hasStarted = false
  let hasContent = false
  let end: UsageTap['end']
  let hasFinalCount = false
  let contentBytes = 0
  let rest: Buffer = nothing
  let isSkipping = false

  const onFrame = (frame: Buffer): void => {
    const name = eventName(frame)
    if (name === 'content_block_delta') contentBytes += Math.max(0, frame.length - deltaOverheadBytes)
    if (name.startsWith('content_block')) hasContent = true
    else if (name === 'message_start') {
      hasStarted = true
      usage = withUsage(usage, dataOf(frame)?.message?.usage)
    } else if (name === 'message_delta') {
      const data = dataOf(frame)
      usage = withUsage(usage, data?.usage)
      hasFinalCount ||= typeof data?.usage?.output_tokens === 'number'
      if (typeof data?.delta?.stop_reason === 'string') stopReason = data.delta.stop_reason
    } else if (name === 'message_stop') end ??= 'stop'
    else if (name === 'error') end ??= 'error'
  }

  return {
    push(chunk) {
      let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (let cut = frameEnd(bytes); cut > 0; cut = frameEnd(bytes)) {
        if (!isSkipping) onFrame(bytes.subarray(0, cut))
        isSkipping = false
        bytes = bytes.subarray(cut)
      }
      if (bytes.length > maxFrameBytes) {
        isSkipping = true
        // The end of the frame may be cut in the middle of its blank line.
        bytes = bytes.subarray(-3)
      }
      // A copy: the chunk that it is part of may be large.
      rest = bytes.length === 0 ? nothing : Buffer.from(bytes)
    },
    get usage() {
      if (!hasStarted || hasFinalCount) return usage
      const sent = Math.max(usage.output_tokens, Math.ceil(contentBytes / bytesPerToken))
      return { ...usage, output_tokens: sent, estimated: true }
    },
    get stopReason() {
      return stopReason
    },
    get hasStarted() {
      return hasStarted
    },
    get hasContent() {
      return hasContent
    },
    get end() {
      return end
    },
  }
}

const blankLine = Buffer.from('\n\n')
const windowsBlankLine = Buffer.from('\n\r\n')

/** The place after the first blank line, 0 without one. */
function frameEnd(bytes: Buffer): number {
  const plain = bytes.indexOf(blankLine)
  const windows = (plain < 0 ? bytes : bytes.subarray(0, plain + 1)).indexOf(windowsBlankLine)
  if (windows >= 0) return windows + windowsBlankLine.length
  return plain < 0 ? 0 : plain + blankLine.length
}

const usualStart = Buffer.from('event: ')

/** The name of a frame's event: of its `event:` line, else the `type` of its data. */
function eventName(frame: Buffer): string {
  if (frame.subarray(0, usualStart.length).equals(usualStart)) {
    return frame.toString('latin1', usualStart.length, frame.indexOf(0x0a)).trimEnd()
  }
  const named = /^event:(.*)$/m.exec(frame.toString('latin1'))?.[1]
  return named?.trim() ?? String(dataOf(frame)?.type)
}

/** The fields of an event that are looked at; any of them may be of another type in truth. */
interface EventData {
  readonly type?: unknown
  readonly usage?: { readonly output_tokens?: unknown }
  readonly message?: { readonly usage?: unknown }
  readonly delta?: { readonly stop_reason?: unknown }
}

/** The JSON of a frame's data lines; undefined when it is none. */
function dataOf(frame: Buffer): EventData | undefined {
  const lines = frame.toString('utf8').split(/\r\n|\n|\r/)
  const data = lines.filter(line => line.startsWith('data:')).map(line => line.slice(5))
  try {
    const value: unknown = JSON.parse(data.join('\n'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // The client sees the very same bytes: judging them is its business, the tap only reads along.
    return undefined
  }
}
