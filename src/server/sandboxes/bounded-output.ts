export interface BoundedOutput {
  add(chunk: Buffer): void
  /** Bytes added so far, retained or not. */
  readonly bytes: number
  readonly truncated: boolean
  /** Returns the text; a line in the middle states how many bytes were dropped. */
  text(): string
}

/** Retains the first and last half of `limitBytes` of a stream, with a memory use of about twice that. */
export function boundedOutput(limitBytes: number): BoundedOutput {
  const headLimit = Math.floor(limitBytes / 2)
  const tailLimit = limitBytes - headLimit
  const head: Buffer[] = []
  let headBytes = 0
  let tail: Buffer[] = []
  let tailBytes = 0
  let bytes = 0

  const addToTail = (chunk: Buffer) => {
    tail.push(chunk)
    tailBytes += chunk.length
    // Concatenating only at twice the limit keeps the cost linear in the length of the stream.
    if (tailBytes > tailLimit * 2) {
      tail = [Buffer.from(Buffer.concat(tail).subarray(-tailLimit))]
      tailBytes = tailLimit
    }
  }

  return {
    add(chunk) {
      bytes += chunk.length
      const first = chunk.subarray(0, headLimit - headBytes)
      if (first.length > 0) head.push(first)
      headBytes += first.length
      if (first.length < chunk.length) addToTail(chunk.subarray(first.length))
    },
    get bytes() {
      return bytes
    },
    get truncated() {
      return bytes > limitBytes
    },
    text() {
      const start = Buffer.concat(head)
      const end = Buffer.concat(tail).subarray(-tailLimit)
      if (bytes <= limitBytes) return Buffer.concat([start, end]).toString('utf8')
      return `${start.toString('utf8')}\n[... ${bytes - limitBytes} bytes of output dropped ...]\n${end.toString('utf8')}`
    },
  }
}
