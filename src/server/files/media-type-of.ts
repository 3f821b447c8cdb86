import { invalid } from '../platform/errors.ts'
import { mediaTypeIn } from '../platform/media-type.ts'
import { mediaIn } from '../tools/media.ts'

const typePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,99}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}$/
const unknownType = 'application/octet-stream'

/** Types whose content must be what they say, because models read it. */
const recognized: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
])

const byExtension: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
  json: 'application/json',
  jsonl: 'application/jsonl',
}

interface Stated {
  readonly filename: string
  readonly mediaType: string | undefined
  /** First bytes of the content. */
  readonly start: Buffer
}

/**
 * Returns the media type of a file: from its first bytes where they show it, else as stated, else by the extension of
 * its name. Throws `invalid_request` for a stated type that the content contradicts.
 */
export function mediaTypeOf({ filename, mediaType, start }: Stated): string {
  const found = mediaIn(start)?.mediaType
  if (found !== undefined) return found
  const stated = mediaTypeIn(mediaType)
  if (recognized.has(stated)) throw invalid(`content type of the file is ${stated}, but the content is not`)
  if (typePattern.test(stated) && stated !== unknownType) return stated
  return byExtension[filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()] ?? unknownType
}
