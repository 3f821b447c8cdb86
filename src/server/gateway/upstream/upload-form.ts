import { randomBytes } from 'node:crypto'

/** Form of an upload, around the content of its file. */
export interface UploadForm {
  readonly boundary: string
  readonly before: Buffer
  readonly after: Buffer
}

interface UploadedFile {
  readonly filename: string
  readonly media_type: string
}

/** Creates the form of an upload to a provider. */
export function uploadForm(
  { filename, media_type }: UploadedFile,
  fields: readonly (readonly [string, string])[],
): UploadForm {
  const boundary = `switchyard-${randomBytes(16).toString('hex')}`
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
  const texts = fields.map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`).join('')
  const name = filename.replaceAll('"', '%22')
  const head = `${part(`name="file"; filename="${name}"`)}Content-Type: ${media_type}\r\n\r\n`
  return { boundary, before: Buffer.from(texts + head), after: Buffer.from(`\r\n--${boundary}--\r\n`) }
}

/** Yields the body of an upload. */
export async function* uploadBody(
  { before, after }: UploadForm,
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield before
  yield* content
  yield after
}
