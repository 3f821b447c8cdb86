import type { Readable } from 'node:stream'

const newline = 10
/** Maximum size of a message of a program. Our choice. */
export const maxLineBytes = 16 * 1024 * 1024

/** A line exceeds the maximum size. */
export class LineTooLong extends Error {
  constructor() {
    super(`a line exceeds ${maxLineBytes / 1024 / 1024} MiB`)
    this.name = 'LineTooLong'
  }
}

/** Yields the lines of a stream without line ends. Throws `LineTooLong`. */
export async function* linesOf(stream: Readable, maxBytes: number = maxLineBytes): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    let rest = chunk as Buffer
    for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
      if (bytes + at > maxBytes) throw new LineTooLong()
      const line = Buffer.concat([...parts, rest.subarray(0, at)])
      parts = []
      bytes = 0
      rest = rest.subarray(at + 1)
      yield line.toString('utf8')
    }
    bytes += rest.length
    if (bytes > maxBytes) throw new LineTooLong()
    if (rest.length > 0) parts.push(rest)
  }
  if (bytes > 0) yield Buffer.concat(parts).toString('utf8')
}
