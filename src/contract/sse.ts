/** One frame of a server-sent event stream. */
export interface SseFrame {
  /** Absent when the frame has no `event:` line. */
  readonly event?: string
  /** The data lines, joined by newlines. */
  readonly data: string
  readonly id?: string
}

/** A frame as text. `data` must be one line: JSON without raw newlines. */
export function sseFrame({ event, data, id }: SseFrame): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}

/** Thrown when one line of a stream is longer than the reader allows. */
export class SseLineTooLong extends Error {}

/**
 * An incremental reader of server-sent events: feed it text as it comes, it yields the frames that are complete.
 * Comments and frames without data are dropped; LF, CRLF and CR end a line. Source: the HTML standard, section 9.2.
 */
export function sseReader(maxLineLength = 16 * 1024 * 1024) {
  let rest = ''
  let pendingCr = false
  let event: string | undefined
  let id: string | undefined
  let data: string[] = []

  const take = (): SseFrame | undefined => {
    const frame =
      data.length === 0
        ? undefined
        : { data: data.join('\n'), ...(event !== undefined && { event }), ...(id !== undefined && { id }) }
    event = undefined
    id = undefined
    data = []
    return frame
  }

  const field = (line: string): void => {
    const colon = line.indexOf(':')
    if (colon === 0) return
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
  }

  return function* read(chunk: string): Generator<SseFrame> {
    let text = rest + chunk
    if (pendingCr && text.startsWith('\n')) text = text.slice(1)
    pendingCr = false
    let start = 0
    const lineEnd = /\r\n|\n|\r/g
    for (let match = lineEnd.exec(text); match; match = lineEnd.exec(text)) {
      const line = text.slice(start, match.index)
      start = match.index + match[0].length
      if (match[0] === '\r' && start === text.length) pendingCr = true
      if (line !== '') {
        field(line)
        continue
      }
      const frame = take()
      if (frame) yield frame
    }
    rest = text.slice(start)
    if (rest.length > maxLineLength) throw new SseLineTooLong(`a line is longer than ${maxLineLength} characters`)
  }
}
