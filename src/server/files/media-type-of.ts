import { invalid } from '../platform/errors.ts'
import { mediaTypeIn, mediaTypePattern } from '../platform/media-type.ts'
import { mediaIn, recognizedTypes } from '../tools/media.ts'

const unknownType = 'application/octet-stream'

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
  if (recognizedTypes.has(stated)) throw invalid(`content type of the file is ${stated}, but the content is not`)
  if (mediaTypePattern.test(stated) && stated !== unknownType) return stated
  return byExtension[filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()] ?? unknownType
}
