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

async function skip(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

/** Bytes that have arrived but are not consumed. */
class Source {
  /** As if the body began with a line end, so that the first boundary is like the others. */
  bytes: Buffer = Buffer.from('\r\n')
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
    if (done) return false
    this.#received += value.length
    if (this.#received > this.#maxBytes)
      throw new AppError('payload_too_large', `request body exceeds ${this.#maxBytes} bytes`)
    this.bytes = this.bytes.length === 0 ? value : Buffer.concat([this.bytes, value])
    return true
  }

  /** Waits for more bytes of an unfinished form. */
  async need(): Promise<void> {
    if (!(await this.more())) throw invalid('request body was truncated: the form has no closing boundary')
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

/** Yields the content up to the next boundary, and consumes that boundary without the rest of its line. */
async function* contentUntil(source: Source, delimiter: Buffer): AsyncGenerator<Buffer> {
  const tail = delimiter.length + maxPadding
  for (;;) {
    const at = await delimiterIn(source, delimiter)
    if (at !== undefined) {
      if (at > 0) yield source.take(at)
      source.take(delimiter.length)
      return
    }
    if (source.bytes.length > tail) yield source.take(source.bytes.length - tail)
    await source.need()
  }
}

/** Returns the offset of a boundary; a longer line that starts with it is content. */
async function delimiterIn(source: Source, delimiter: Buffer): Promise<number | undefined> {
  for (let at = source.bytes.indexOf(delimiter); at >= 0; at = source.bytes.indexOf(delimiter, at + 1)) {
    const after = at + delimiter.length
    while (source.bytes.length < after + maxPadding && (await source.more()));
    if (/^(--|[ \t]*\r\n)/.test(source.bytes.toString('latin1', after, after + maxPadding))) return at
  }
  return undefined
}

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
