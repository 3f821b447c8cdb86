import { AppError } from '../../platform/errors.ts'
import type { Span } from '../bytes/json-scanner.ts'
import { type FilledPart, filledPart, type PartFile, readableAs, writtenContent } from './file-parts.ts'
import type { FileReference, PartType } from './references.ts'

/** A file of a request, and where the request holds its content. */
export interface PlacedFile {
  readonly file: PartFile
  readonly type: PartType
  readonly path: string
  /** The value with the content, in the filled request. */
  readonly span: Span
  /** The same value with the id of the file, as the client sent it. */
  readonly written: Buffer
  /** The string with the id in `written`. */
  readonly idSpan: Span
}

/** A request with the content of its files in place of their ids. */
export interface FilledRequest {
  readonly body: Buffer
  readonly placed: readonly PlacedFile[]
}

interface Filling {
  /** In the order of the request. */
  readonly references: readonly FileReference[]
  readonly fileOf: (id: string) => PartFile
  readonly contentOf: (file: PartFile) => AsyncIterable<Buffer>
  /** Maximum bytes of the filled request. */
  readonly maxBytes: number
}

/** Puts the content of files into a request. Every other byte stays. Throws `invalid_request` and `payload_too_large`. */
export async function filledRequest(
  body: Buffer,
  { references, fileOf, contentOf, maxBytes }: Filling,
): Promise<FilledRequest> {
  const parts = references.map(reference => {
    const { start, end } = reference.span
    const file = fileOf(reference.id)
    return { reference, file, part: filledPart(reference, file, body.toString('utf8', start, end)) }
  })
  const needed = parts.reduce((sum, { file, part }) => sum + (part ? sizeOf(file, part) : 0), body.length)
  if (needed > maxBytes) throw tooLarge(maxBytes)

  const out = new Output(maxBytes)
  const placed: PlacedFile[] = []
  let at = 0
  for (const { reference, file, part } of parts) {
    const { span, idSpan, type, path } = reference
    const written = body.subarray(span.start, span.end)
    out.add(body.subarray(at, span.start))
    const start = out.length
    if (part) {
      out.add(Buffer.from(part.before))
      for await (const chunk of writtenContent(contentOf(file), part.encoding, file)) out.add(chunk)
      out.add(Buffer.from(part.after))
    } else out.add(written)
    const idInWritten = { start: idSpan.start - span.start, end: idSpan.end - span.start }
    // A copy, because a view would retain the whole request.
    placed.push({
      file,
      type,
      path,
      span: { start, end: out.length },
      written: Buffer.from(written),
      idSpan: idInWritten,
    })
    at = span.end
  }
  out.add(body.subarray(at))
  return { body: out.joined(), placed }
}

/** Exact for base64; the least for a text. */
const sizeOf = ({ bytes }: PartFile, { encoding }: FilledPart): number =>
  encoding === 'base64' ? Math.ceil(bytes / 3) * 4 : bytes

const tooLarge = (maxBytes: number): AppError =>
  new AppError(
    'payload_too_large',
    `request exceeds ${maxBytes} bytes with the content of its files; refer to fewer or smaller files`,
  )

class Output {
  length = 0
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(chunk: Buffer): void {
    this.length += chunk.length
    if (this.length > this.#maxBytes) throw tooLarge(this.#maxBytes)
    this.#chunks.push(chunk)
  }

  joined(): Buffer {
    return Buffer.concat(this.#chunks, this.length)
  }
}

/** Reports whether a provider's Files API takes the file in such a part. */
export function isReferable({ file, type }: Pick<PlacedFile, 'file' | 'type'>): boolean {
  const readable = readableAs(file)
  switch (type) {
    case 'container_upload':
    case 'code_interpreter':
      return true
    case 'image':
    case 'input_image':
      return readable === 'image'
    case 'document':
      return readable === 'pdf' || file.media_type === 'text/plain'
    case 'file':
    case 'input_file':
      return readable === 'pdf'
    case 'fileData':
      return false
  }
}

/** Returns the filled request with references to a provider's copies in place of the content that it has. */
export function referringBody({ body, placed }: FilledRequest, idOf: (fileId: string) => string | undefined): Buffer {
  const chunks: Buffer[] = []
  let at = 0
  for (const one of placed) {
    const id = isReferable(one) ? idOf(one.file.id) : undefined
    if (id === undefined) continue
    const { span, written, idSpan } = one
    chunks.push(body.subarray(at, span.start), written.subarray(0, idSpan.start), Buffer.from(JSON.stringify(id)))
    chunks.push(written.subarray(idSpan.end))
    at = span.end
  }
  return Buffer.concat([...chunks, body.subarray(at)])
}
