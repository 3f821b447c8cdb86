import type { AgUiMessage } from '../../contract/ag-ui-input.ts'
import type { UserContent } from '../../contract/event-routes.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord, type Json, nonEmptyText, recordOf } from '../platform/json.ts'

const maxTextChars = 1_000_000
const mediaTypes: readonly unknown[] = ['image', 'audio', 'video', 'document']

/** Returns the content of a message of a user or a tool; `place` is its path in the input. Throws `invalid_request`. */
export function contentOf({ content }: AgUiMessage, place: string): UserContent[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [textPart(content, `${place}.content`)]
  if (!Array.isArray(content)) throw invalid(`${place}.content must be a text or a list of parts`)
  return content.flatMap((part, at) => partOf(part, `${place}.content[${at}]`))
}

function partOf(part: unknown, place: string): UserContent[] {
  if (!isRecord(part)) throw invalid(`${place} must be an object`)
  const { type, text } = part
  if (type === 'text') {
    if (typeof text !== 'string') throw invalid(`${place}.text must be a text`)
    return text.trim() === '' ? [] : [textPart(text, `${place}.text`)]
  }
  if (type === 'binary') return [binaryPart(part, place)]
  if (mediaTypes.includes(type)) return [mediaPart(part, place)]
  throw invalid(`${place}.type must be text, image, audio, video or document`)
}

function textPart(text: string, place: string): UserContent {
  if (text.length > maxTextChars) throw invalid(`${place} must have at most ${maxTextChars} characters`)
  return { type: 'text', text }
}

function mediaPart({ source, metadata }: Json, place: string): UserContent {
  const { type, value, mimeType } = recordOf(source)
  const field = `${place}.source`
  if (typeof value !== 'string') throw invalid(`${field}.value must be a text`)
  const named = { ...nameIn(metadata), ...mediaTypeIn(mimeType) }
  if (type === 'data') return { type: 'file', data: value, ...named }
  if (type === 'url' && /^data:/i.test(value)) return { type: 'file', url: value, ...named }
  throw notHere(field)
}

/** The part of clients before 1.0. */
function binaryPart({ data, mimeType, filename }: Json, place: string): UserContent {
  if (typeof data !== 'string') throw notHere(place)
  const name = nonEmptyText(filename)
  return { type: 'file', data, ...(name !== undefined && { name }), ...mediaTypeIn(mimeType) }
}

const notHere = (field: string) =>
  invalid(
    `${field} is not supported: this service loads no files from other places; send the content as base64 in a source of type data`,
  )

const mediaTypeIn = (mimeType: unknown) =>
  typeof mimeType === 'string' && mimeType !== '' ? { media_type: mimeType.slice(0, 200) } : {}

/** The protocol has no field for the name of a file; clients put it into the metadata. */
function nameIn(metadata: unknown) {
  const { filename, name, title } = recordOf(metadata)
  const found = nonEmptyText(filename) ?? nonEmptyText(name) ?? nonEmptyText(title)
  return found === undefined ? {} : { name: found.slice(0, 1_000) }
}
