/** One frame of a server-sent event stream. */
export interface SseFrame {
  /** Absent when the frame has no `event:` line. */
  readonly event?: string
  /** The data lines, joined by newlines. */
  readonly data: string
  /** Id of this frame only; it does not apply to later frames. */
  readonly id?: string
}

/** Returns a frame as text. `data` must be one line, such as JSON without raw newlines. */
export function sseFrame({ event, data, id }: SseFrame): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}

/** A line or a frame of a stream is longer than the reader allows. */
export class SseLineTooLong extends Error {
  override readonly name = 'SseLineTooLong'
}

export interface SseReaderOptions {
  /** Maximum characters of a line, and of the data of a frame; 16 Mi by default. */
  readonly maxLength?: number
  /** Called with the milliseconds of each `retry:` line. */
  readonly onRetry?: (retryMs: number) => void
}

/**
 * Incremental reader of server-sent events: takes chunks of text and yields complete frames.
 * Comments and frames without data are dropped; LF, CRLF and CR end a line; a leading byte order mark is skipped.
 * Source: the HTML standard, section 9.2.
 */
export function sseReader({ maxLength = 16 * 1024 * 1024, onRetry }: SseReaderOptions = {}) {
  const lines = lineSplitter(maxLength)
  let event: string | undefined
  let id: string | undefined
  let data: string[] = []
  let dataLength = 0

  const take = (): SseFrame | undefined => {
    const frame =
      data.length === 0
        ? undefined
        : { data: data.join('\n'), ...(event !== undefined && { event }), ...(id !== undefined && { id }) }
    event = undefined
    id = undefined
    data = []
    dataLength = 0
    return frame
  }

  const addData = (value: string): void => {
    dataLength += value.length + 1
    if (dataLength > maxLength + 1) throw new SseLineTooLong(`a frame is longer than ${maxLength} characters`)
    data.push(value)
  }

  const field = (line: string): void => {
    const [name, value] = nameAndValue(line)
    if (name === 'data') addData(value)
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) onRetry?.(Number(value))
  }

  return function* read(chunk: string): Generator<SseFrame> {
    for (const line of lines(chunk)) {
      if (line !== '') {
        field(line)
        continue
      }
      const frame = take()
      if (frame) yield frame
    }
  }
}

/** One space after the colon is not part of the value; a comment has an empty name. */
function nameAndValue(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line, '']
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}

/** Splits chunks of text into lines; each chunk is searched once, however long the line is. */
function lineSplitter(maxLength: number) {
  let pieces: string[] = []
  let bufferedLength = 0
  let afterCr = false
  let started = false

  const buffer = (piece: string): void => {
    if (piece === '') return
    pieces.push(piece)
    bufferedLength += piece.length
    if (bufferedLength > maxLength) throw new SseLineTooLong(`a line is longer than ${maxLength} characters`)
  }

  const release = (): string => {
    const line = pieces.join('')
    pieces = []
    bufferedLength = 0
    return line
  }

  return function* split(chunk: string): Generator<string> {
    if (chunk === '') return
    let start = !started && chunk.startsWith('\uFEFF') ? 1 : 0
    started = true
    // The line has ended with its CR already: a LF that comes first now belongs to that CR.
    if (afterCr && chunk.startsWith('\n')) start = 1
    afterCr = chunk.endsWith('\r')
    const lineEnd = /\r\n|\n|\r/g
    lineEnd.lastIndex = start
    for (let match = lineEnd.exec(chunk); match; match = lineEnd.exec(chunk)) {
      buffer(chunk.slice(start, match.index))
      start = match.index + match[0].length
      yield release()
    }
    buffer(chunk.slice(start))
  }
}
