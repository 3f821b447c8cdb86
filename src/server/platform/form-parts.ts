import { AppError, invalid } from './errors.ts'
import { maxPartHeaderBytes, type PartHead, partHeadOf } from './form-data.ts'

/** Part of a form that is still arriving. */
export interface FormPart extends PartHead {
  /** Can be read once, before the next part. */
  readonly content: AsyncIterable<Buffer>
}

interface Form {
  readonly boundary: string
  readonly maxBytes: number
}

const nothing = Buffer.alloc(0)
const headersEnd = Buffer.from('\r\n\r\n')
/** White space that may follow a boundary on its line. */
const maxPadding = 64

/**
 * Reads the parts of a form while it arrives, without holding it in memory. Content that the caller does not read is
 * skipped. Throws `invalid_request` for a body that is malformed or ends early, and `payload_too_large`.
 */
export async function* formParts(body: AsyncIterable<Buffer>, { boundary, maxBytes }: Form): AsyncGenerator<FormPart> {
  const source = new Source(body, maxBytes)
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  try {
    await skip(contentUntil(source, delimiter))
    while (!(await isLast(source))) {
      const content = contentUntil(source, delimiter)
      yield { ...partHeadOf(await headersOf(source)), content }
      // Nothing is left when the caller has read it.
      await skip(content)
    }
    await source.end()
  } finally {
    await source.close()
  }
}

const truncated = (): AppError => invalid('request body was truncated: the form has no closing boundary')

async function skip(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

/** Bytes that have arrived but are not consumed. */
class Source {
  /** As if the body began with a line end, so that the first boundary is like the others. */
  bytes: Buffer = Buffer.from('\r\n')
  /** True once the whole body has arrived. */
  isOver = false
  readonly #chunks: AsyncIterator<Buffer>
  readonly #maxBytes: number
  #received = 0

  constructor(body: AsyncIterable<Buffer>, maxBytes: number) {
    this.#chunks = body[Symbol.asyncIterator]()
    this.#maxBytes = maxBytes
  }

  /** Waits for more bytes. Returns false at the end of the body. */
  async more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next()
    this.isOver = done === true
    if (done) return false
    this.#received += value.length
    if (this.#received > this.#maxBytes)
      throw new AppError('payload_too_large', `request body exceeds ${this.#maxBytes} bytes`)
    this.bytes = this.bytes.length === 0 ? value : Buffer.concat([this.bytes, value])
    return true
  }

  /** Waits for more bytes of an unfinished form. */
  async need(): Promise<void> {
    if (!(await this.more())) throw truncated()
  }

  take(bytes: number): Buffer {
    const taken = this.bytes.subarray(0, bytes)
    this.bytes = this.bytes.subarray(bytes)
    return taken
  }

  /** Reads and ignores what follows the form. A body that is shorter than its content-length ends with an error. */
  async end(): Promise<void> {
    do this.bytes = nothing
    while (await this.more())
  }

  /** Releases the body. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}

/** Yields the content up to the next boundary as it arrives, and consumes that boundary without the rest of its line. */
async function* contentUntil(source: Source, delimiter: Buffer): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytes, isAtBoundary } = contentIn(source, delimiter)
    // Before the wait, so that lines that only start with a boundary do not pile up in memory.
    if (bytes > 0) yield source.take(bytes)
    if (isAtBoundary) {
      source.take(delimiter.length)
      return
    }
    if (source.isOver) throw truncated()
    await source.more()
  }
}

interface KnownContent {
  readonly bytes: number
  /** True if a boundary follows; false if more bytes must arrive to tell. */
  readonly isAtBoundary: boolean
}

/** Returns how much of the arrived bytes is content. */
function contentIn({ bytes, isOver }: Source, delimiter: Buffer): KnownContent {
  for (let from = 0; ; from++) {
    const at = bytes.indexOf(delimiter, from)
    if (at < 0) return { bytes: Math.max(from, bytes.length - delimiter.length), isAtBoundary: false }
    const after = at + delimiter.length
    if (!isOver && bytes.length < after + maxPadding) return { bytes: at, isAtBoundary: false }
    if (isBoundaryLine(bytes, after)) return { bytes: at, isAtBoundary: true }
    from = at
  }
}

/** False for a longer line that only starts with a boundary. `after` is the offset after that start. */
const isBoundaryLine = (bytes: Buffer, after: number): boolean =>
  /^(--|[ \t]*\r\n)/.test(bytes.toString('latin1', after, after + maxPadding))

/** Reports whether the consumed boundary is the last one. */
async function isLast(source: Source): Promise<boolean> {
  while (source.bytes.length < 2) await source.need()
  return source.bytes.toString('latin1', 0, 2) === '--'
}

/** Consumes the headers of a part, from the end of the boundary's line. */
async function headersOf(source: Source): Promise<string> {
  for (;;) {
    const lineAt = source.bytes.indexOf('\r\n')
    const end = lineAt < 0 ? -1 : source.bytes.indexOf(headersEnd, lineAt)
    if (end > maxPartHeaderBytes || (end < 0 && source.bytes.length > maxPartHeaderBytes + maxPadding))
      throw invalid('a part of the form has headers longer than 16 KiB')
    if (end >= 0) return source.take(end + headersEnd.length).toString('utf8', lineAt, end)
    await source.need()
  }
}
