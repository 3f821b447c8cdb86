import { setImmediate } from 'node:timers/promises'
import { AppError, invalid } from '../../platform/errors.ts'
import { mediaTypeIn, mediaTypePattern } from '../../platform/media-type.ts'
import { mediaIn, recognizedTypes } from '../../tools/media.ts'
import type { SentFile } from './sent-file.ts'

/** Characters that are decoded between two turns of the event loop; a multiple of four. */
const sliceLength = 1024 * 1024

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/

/** Yields the content of a file. Returns to the event loop after each slice. Throws `invalid_request`. */
export async function* decodedContent({ content, encoding, field }: SentFile): AsyncGenerator<Buffer> {
  if (encoding === 'text') {
    const bytes = Buffer.from(content)
    for (let at = 0; at < bytes.length; at += sliceLength) {
      yield bytes.subarray(at, at + sliceLength)
      await setImmediate()
    }
    return
  }
  if (content.length % 4 !== 0) throw notBase64(field)
  for (let at = 0; at < content.length; at += sliceLength) {
    const slice = content.slice(at, at + sliceLength)
    const isLast = at + sliceLength >= content.length
    if (!alphabet.test(slice) || (!isLast && slice.endsWith('='))) throw notBase64(field)
    yield Buffer.from(slice, 'base64')
    await setImmediate()
  }
}

const notBase64 = (field: string) => invalid(`${field} is not base64`)

/** Returns the bytes of the decoded content. */
export const decodedBytes = ({ content, encoding }: SentFile): number => {
  if (encoding === 'text') return Buffer.byteLength(content)
  const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0
  return (content.length / 4) * 3 - padding
}

/**
 * Returns the media type of a file, from its first bytes where they show it. Throws `invalid_request` when the given
 * type is missing, malformed, or differs from the content.
 */
function mediaTypeOf({ mediaType, field }: Stated, start: Buffer): string {
  const found = mediaIn(start)?.mediaType
  const given = mediaTypeIn(mediaType)
  if (given === '') {
    if (found !== undefined) return found
    throw invalid(`${field}: media_type is required, such as text/plain or application/octet-stream`)
  }
  if (!mediaTypePattern.test(given)) throw invalid(`${field}: media_type is not a media type such as image/png`)
  const isSame = found === given || (found === 'image/jpeg' && given === 'image/jpg')
  if (found !== undefined && !isSame && (recognizedTypes.has(given) || given.startsWith('text/')))
    throw invalid(`${field}: media_type is ${given}, but the content is ${found}`)
  if (found === undefined && recognizedTypes.has(given))
    throw invalid(`${field}: media_type is ${given}, but the content is not`)
  return found ?? given
}

/** Returns whether the content of the type must be a text in UTF-8. */
const isText = (mediaType: string): boolean => mediaType.startsWith('text/') || mediaType === 'application/json'

type Stated = Pick<SentFile, 'mediaType' | 'field'>

/** The content of a file, checked while it is read: its media type by its first bytes, a text byte by byte. */
export class CheckedContent {
  readonly #file: Stated
  readonly #content: AsyncIterable<Buffer>
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true })
  /** Known after the first chunk. */
  #mediaType: string | undefined

  constructor(file: Stated, content: AsyncIterable<Buffer>) {
    this.#file = file
    this.#content = content
  }

  get mediaType(): string {
    return this.#mediaType ?? ''
  }

  /** Yields the content. Throws `invalid_request`. */
  async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of this.#content) {
      this.#mediaType ??= mediaTypeOf(this.#file, chunk)
      this.#check(chunk)
      yield chunk
    }
    if (this.#mediaType === undefined) throw invalid(`${this.#file.field} is empty`)
    this.#check(undefined)
  }

  /** Checks a chunk of a text; undefined is the end. */
  #check(chunk: Buffer | undefined): void {
    const { mediaType } = this
    if (!isText(mediaType)) return
    try {
      this.#utf8.decode(chunk, { stream: chunk !== undefined })
    } catch (cause) {
      const message = `${this.#file.field}: media_type is ${mediaType}, but the content is not UTF-8; use application/octet-stream`
      throw new AppError('invalid_request', message, { cause })
    }
  }
}
