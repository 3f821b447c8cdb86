import { randomBytes } from 'node:crypto'
import { AppError, invalid } from '../../platform/errors.ts'
import { type Json, recordOf } from '../../platform/json.ts'
import type { FileReference } from './references.ts'

/** A file as parts of requests need it. */
export interface PartFile {
  readonly id: string
  readonly filename: string
  readonly media_type: string
  readonly bytes: number
  /** Hashes of its pieces, in order. */
  readonly pieces: readonly string[]
}

/** How a part holds the content of a file. */
export interface FilledPart {
  /** JSON before and after the content. */
  readonly before: string
  readonly after: string
  readonly encoding: 'base64' | 'text'
}

/** Stands for the content in a part while it is serialised. Random, so that no request contains it. */
const mark = randomBytes(12).toString('hex')

const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const pdf = 'application/pdf'
const textTypes =
  /^(text\/.+|application\/(json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|javascript|sql)|[^/]+\/.+\+(json|xml|yaml))$/

/** What a model can get of a file. */
export function readableAs({ media_type: type }: Pick<PartFile, 'media_type'>): 'image' | 'pdf' | 'text' | undefined {
  if (imageTypes.has(type)) return 'image'
  if (type === pdf) return 'pdf'
  return textTypes.test(type) ? 'text' : undefined
}

/**
 * Returns the part with the content of a file in place of its id; undefined for a part that no content replaces.
 * `written` is the JSON of the value to replace. Throws `invalid_request` for a type that the part cannot hold.
 */
export function filledPart(reference: FileReference, file: PartFile, written: string): FilledPart | undefined {
  const { type } = reference
  const readable = readableAs(file)
  switch (type) {
    case 'container_upload':
    case 'code_interpreter':
      return undefined
    case 'image':
      if (readable === 'image') return split(base64Source(file), 'base64')
      break
    case 'document':
      if (readable === 'pdf') return split(base64Source(file), 'base64')
      if (readable === 'text') return split({ type: 'text', media_type: 'text/plain', data: mark }, 'text')
      break
    case 'input_image':
      if (readable === 'image') return responsesPart(readable, file, recordOf(JSON.parse(written)))
      break
    case 'file':
    case 'input_file':
    case 'fileData':
      if (readable) return partOf[type](readable, file, recordOf(JSON.parse(written)))
  }
  const instead = readable === 'image' ? '; use an image' : readable ? '; use a document' : ''
  throw invalid(`${reference.path}: file ${file.id} of type ${file.media_type} cannot be sent as ${type}${instead}`)
}

const partOf = { file: chatPart, input_file: responsesPart, fileData: geminiPart } as const

const dataUrl = ({ media_type }: PartFile): string => `data:${media_type};base64,${mark}`
const base64Source = ({ media_type }: PartFile): Json => ({ type: 'base64', media_type, data: mark })
const titled = ({ filename }: PartFile): string => `File ${filename}:\n\n${mark}`

function chatPart(readable: 'image' | 'pdf' | 'text', file: PartFile, written: Json): FilledPart {
  const { type, file: given, ...rest } = written
  switch (readable) {
    case 'image':
      return split({ ...rest, type: 'image_url', image_url: { url: dataUrl(file) } }, 'base64')
    case 'pdf': {
      const { file_id, ...named } = recordOf(given)
      return split({ ...rest, type, file: { filename: file.filename, ...named, file_data: dataUrl(file) } }, 'base64')
    }
    case 'text':
      return split({ ...rest, type: 'text', text: titled(file) }, 'text')
  }
}

function responsesPart(readable: 'image' | 'pdf' | 'text', file: PartFile, written: Json): FilledPart {
  const { type, file_id, filename, ...rest } = written
  switch (readable) {
    case 'image':
      return split({ ...rest, type: 'input_image', image_url: dataUrl(file) }, 'base64')
    case 'pdf':
      return split({ ...rest, type, filename: filename ?? file.filename, file_data: dataUrl(file) }, 'base64')
    case 'text': {
      const { detail, ...others } = rest
      return split({ ...others, type: 'input_text', text: titled(file) }, 'text')
    }
  }
}

function geminiPart(readable: 'image' | 'pdf' | 'text', file: PartFile, written: Json): FilledPart {
  const { fileData, file_data, ...rest } = written
  if (readable === 'text') return split({ ...rest, text: titled(file) }, 'text')
  return split({ ...rest, inlineData: { mimeType: file.media_type, data: mark } }, 'base64')
}

function split(part: Json, encoding: FilledPart['encoding']): FilledPart {
  const [before = '', after = ''] = JSON.stringify(part).split(mark)
  return { before, after, encoding }
}

/** Yields the content of a file as the inside of a JSON string. Throws `invalid_request` for a text that is not UTF-8. */
export async function* writtenContent(
  content: AsyncIterable<Buffer>,
  encoding: FilledPart['encoding'],
  file: PartFile,
): AsyncGenerator<Buffer> {
  yield* encoding === 'base64' ? inBase64(content) : asText(content, file)
}

async function* inBase64(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of content) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % 3)
    yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1')
    rest = bytes.subarray(whole)
  }
  yield Buffer.from(rest.toString('base64'), 'latin1')
}

async function* asText(content: AsyncIterable<Buffer>, file: PartFile): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Buffer): Buffer => {
    try {
      const text = chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
      return Buffer.from(JSON.stringify(text).slice(1, -1))
    } catch (cause) {
      const message = `file ${file.id} has the type ${file.media_type}, but its content is not UTF-8`
      throw new AppError('invalid_request', message, { cause })
    }
  }
  for await (const chunk of content) yield decode(chunk)
  yield decode()
}
