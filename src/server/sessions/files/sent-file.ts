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

/** A file of a prompt that the caller has uploaded before. */
export interface SentReference {
  /** Path of the id in the request, for errors. */
  readonly field: string
  /** Name that replaces that of the file. */
  readonly name: string | undefined
  readonly fileId: string
}

/** Texts and files of a message, in order. */
export type SentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly file: SentFile }
  | { readonly type: 'reference'; readonly file: SentReference }

/** Converts the content of a message. `place` is the path of the list in the request. Throws `invalid_request`. */
export const sentParts = (content: readonly UserContent[], place: string): SentPart[] =>
  content.flatMap((part, at) => partsOf(part, `${place}[${at}]`))

function partsOf(part: UserContent, place: string): SentPart[] {
  switch (part.type) {
    case 'text':
      return [part]
    case 'file':
      return [sentFile(part, place)]
    case 'image':
      return [sentMedia(part, place)]
    case 'document': {
      const text = part.context?.trim() ? [{ type: 'text' as const, text: part.context }] : []
      return [sentMedia(part, place), ...text]
    }
  }
}

function sentFile(part: FilePartWrite, place: string): SentPart {
  const name = part.name ?? part.filename
  const mediaType = part.media_type ?? part.mime
  if (part.file_id !== undefined) {
    const other = part.data !== undefined ? 'data' : part.url !== undefined ? 'url' : undefined
    if (other) throw invalid(`${place}.file_id and ${place}.${other} exclude each other`)
    if (mediaType !== undefined) throw invalid(`${place}.media_type: the type of a stored file cannot be changed`)
    return { type: 'reference', file: { field: `${place}.file_id`, name, fileId: part.file_id } }
  }
  if (part.data !== undefined)
    return file({ field: `${place}.data`, name, mediaType, encoding: 'base64', content: part.data })
  if (part.url === undefined)
    throw invalid(`${place}.data is required: the content of the file in base64, or file_id of a stored one`)
  return file({ ...fileInUrl(part.url, `${place}.url`), name, ...(mediaType !== undefined && { mediaType }) })
}

const file = (sent: SentFile): SentPart => ({ type: 'file', file: sent })

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

function sentMedia(part: MediaWrite, place: string): SentPart {
  const { type, media_type: mediaType, data, file_id: fileId } = part.source
  const name = part.type === 'document' ? (part.title ?? undefined) : undefined
  const field = `${place}.source`
  if (type === 'file') {
    if (fileId === undefined) throw invalid(`${field}.file_id is required`)
    return { type: 'reference', file: { field: `${field}.file_id`, name, fileId } }
  }
  if (type !== 'base64' && !(type === 'text' && part.type === 'document')) {
    throw invalid(`${field}.type "${type}" is not supported: send the content with type base64`)
  }
  if (data === undefined) throw invalid(`${field}.data is required`)
  if (type === 'base64') return file({ field: `${field}.data`, name, mediaType, encoding: 'base64', content: data })
  return file({ field: `${field}.data`, name, mediaType: mediaType ?? 'text/plain', encoding: 'text', content: data })
}
