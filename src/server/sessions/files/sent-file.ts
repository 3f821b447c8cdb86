import type { UserContent } from '../../../contract/event-routes.ts'
import type { FilePartWrite, MediaWrite } from '../../../contract/prompt-files.ts'
import { invalid } from '../../platform/errors.ts'

/** A file of a prompt with its content as sent, whatever the format of the client. */
export interface SentFile {
  /** Path of its content in the request, for errors. */
  readonly field: string
  readonly name: string | undefined
  readonly mediaType: string | undefined
  readonly encoding: 'base64' | 'text'
  readonly content: string
}

/** Texts and files of a message, in order. */
export type SentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly file: SentFile }

/** Converts the content of a message. `place` is the path of the list in the request. Throws `invalid_request`. */
export const sentParts = (content: readonly UserContent[], place: string): SentPart[] =>
  content.flatMap((part, at) => partsOf(part, `${place}[${at}]`))

function partsOf(part: UserContent, place: string): SentPart[] {
  switch (part.type) {
    case 'text':
      return [part]
    case 'file':
      return [{ type: 'file', file: sentFile(part, place) }]
    case 'image':
      return [{ type: 'file', file: sentMedia(part, place) }]
    case 'document': {
      const text = part.context?.trim() ? [{ type: 'text' as const, text: part.context }] : []
      return [{ type: 'file', file: sentMedia(part, place) }, ...text]
    }
  }
}

function sentFile(part: FilePartWrite, place: string): SentFile {
  if (part.file_id !== undefined) throw noFileIds(`${place}.file_id`)
  const name = part.name ?? part.filename
  const mediaType = part.media_type ?? part.mime
  if (part.data !== undefined)
    return { field: `${place}.data`, name, mediaType, encoding: 'base64', content: part.data }
  if (part.url === undefined) throw invalid(`${place}.data is required: the content of the file in base64`)
  return { ...fileInUrl(part.url, `${place}.url`), name, ...(mediaType !== undefined && { mediaType }) }
}

/** Reads a `data:` URL in base64. */
function fileInUrl(url: string, field: string): Omit<SentFile, 'name'> {
  const comma = url.indexOf(',')
  const head = url.slice(0, Math.min(comma, maxHeadLength))
  if (comma < 0 || comma > maxHeadLength || !/^data:[^,]*;base64$/i.test(head)) {
    throw invalid(`${field} must be a data: URL in base64; this service loads no files from other addresses`)
  }
  const mediaType = head.slice('data:'.length, -';base64'.length)
  return {
    field,
    mediaType: mediaType === '' ? undefined : mediaType,
    encoding: 'base64',
    content: url.slice(comma + 1),
  }
}

const maxHeadLength = 500

function sentMedia(part: MediaWrite, place: string): SentFile {
  const { type, media_type: mediaType, data } = part.source
  const name = part.type === 'document' ? (part.title ?? undefined) : undefined
  const field = `${place}.source`
  if (type === 'file') throw noFileIds(`${field}.file_id`)
  if (type !== 'base64' && !(type === 'text' && part.type === 'document')) {
    throw invalid(`${field}.type "${type}" is not supported: send the content with type base64`)
  }
  if (data === undefined) throw invalid(`${field}.data is required`)
  if (type === 'base64') return { field: `${field}.data`, name, mediaType, encoding: 'base64', content: data }
  return { field: `${field}.data`, name, mediaType: mediaType ?? 'text/plain', encoding: 'text', content: data }
}

const noFileIds = (field: string) =>
  invalid(
    `${field} is not supported: this service stores no files apart from sessions; send the content in data, as base64`,
  )
