import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn, textOf } from '../../../platform/json.ts'
import { toolInputIn } from '../../bytes/exact-numbers.ts'
import { allPlaced } from '../../core/degradations.ts'
import type { Note } from './settings.ts'
import { toolCallId } from './tools.ts'

/** A content block in Anthropic's format. */
export type Block = Json & { readonly type: string }

/** Returns a text block in a list; an empty list for a blank text, which Anthropic's format rejects. */
export const textBlocks = (text: unknown, part: Json = {}): readonly Block[] =>
  typeof text === 'string' && text.trim() !== '' ? [{ type: 'text', text, ...cacheMark(part) }] : []

/** Matches the media type and the parameters, which must end with `;base64`. */
const dataUrl = /^data:([^;,]+)(?:;[^;,]*)*;base64,/

/** Addresses of the web and of the stores of Google and Amazon, which their models read. */
const address = /^(https?|gs|s3):\/\//i

interface ImagePlace {
  readonly path: string
  /** True for upstreams that read audio and video. */
  readonly takesMedia?: boolean
}

/** Returns the block for the address or the data URL of an image. Some clients send PDF files and media as images. */
export function imageBlock(url: unknown, part: Json, { path, takesMedia = false }: ImagePlace): Block {
  if (typeof url !== 'string') throw invalid(`${path} must be a URL`)
  const source = urlSource(url, path)
  return { type: blockType(source['media_type'], takesMedia), source, ...cacheMark(part) }
}

function blockType(mediaType: unknown, takesMedia: boolean): 'image' | 'document' | 'media' {
  if (mediaType === 'application/pdf') return 'document'
  return takesMedia && isMedia(mediaType) ? 'media' : 'image'
}

const isMedia = (type: unknown): boolean => /^(audio|video)\//.test(textOf(type))

interface MediaSource {
  readonly url?: unknown
  /** Base64. */
  readonly data?: unknown
  readonly type?: string
}

/** Returns a block with audio or video, which Anthropic's format does not have, for the upstreams that read them. */
export function mediaBlock({ url, data, type }: MediaSource, part: Json, path: string): Block {
  if (url === undefined && typeof data !== 'string') throw invalid(`${path}.data must be a string`)
  if (url !== undefined && typeof url !== 'string') throw invalid(`${path} must have a URL`)
  const source = typeof url === 'string' ? urlSource(url, path) : { type: 'base64', media_type: type, data }
  return { type: 'media', source, ...cacheMark(part) }
}

function urlSource(url: string, path: string): Json {
  if (address.test(url)) return { type: 'url', url }
  const found = dataUrl.exec(url)
  if (!found) throw invalid(`${path} must be an http(s), gs or s3 URL or a base64 data URL`)
  return { type: 'base64', media_type: found[1], data: url.slice(found[0].length) }
}

interface FilePlace extends ImagePlace {
  /** True for upstreams that store files, which the client may reference by id. */
  readonly takesIds: boolean
}

/** Returns the block of a file with data or URL (image, PDF or text), or with an id if the upstream stores files. */
export function fileBlock(file: Json, part: Json, { path, takesIds, takesMedia = false }: FilePlace): Block {
  const { file_data: data, file_id: id, filename } = file
  // LiteLLM documents addresses in `file_id`.
  const url = file['file_url'] ?? [data, id].find(given => address.test(textOf(given)))
  const title = textIn(filename)
  const isStoredFile = takesIds && isAbsent(data) && isAbsent(url) && typeof id === 'string'
  const source = isStoredFile
    ? { type: storedFile, file_id: id }
    : fileSource({ data: textIn(data), url: textIn(url), title, takesMedia }, path)
  if (!source)
    throw invalid(
      id === undefined
        ? `${path}.file_data is required`
        : `${path}.file_id: stored files are not supported for this model; send the file data`,
    )
  const { type } = source
  if (type === 'image' || type === 'media') return { type, source: source['source'], ...cacheMark(part) }
  return { type: 'document', source, ...(title !== undefined && { title }), ...cacheMark(part) }
}

/** Source type of a file stored at OpenAI. Not Anthropic's `file`, whose ids belong to Anthropic. */
export const storedFile = 'openai_file'

interface FileParts {
  readonly data: string | undefined
  readonly url: string | undefined
  readonly title: string | undefined
  readonly takesMedia: boolean
}

function fileSource({ data, url, title, takesMedia }: FileParts, path: string): Json | undefined {
  if (url !== undefined) return urlSource(url, `${path}.file_url`)
  if (data === undefined) return undefined
  const found = dataUrl.exec(data)
  const mediaType = found?.[1] ?? (title?.toLowerCase().endsWith('.txt') ? 'text/plain' : 'application/pdf')
  const payload = data.slice(found?.[0].length ?? 0)
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: payload }
  const type = mediaType.startsWith('image/') ? 'image' : takesMedia && isMedia(mediaType) ? 'media' : undefined
  if (type) return { type, source: { type: 'base64', media_type: mediaType, data: payload } }
  if (mediaType.startsWith('text/') || mediaType === 'application/json')
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(payload, 'base64').toString() }
  throw invalid(`${path}.file_data: files of type ${mediaType} are not supported`)
}

/** Returns the blocks with the cache mark of `holder`, a message or a tool result, on the last one. */
export function markedAtEnd(blocks: readonly Block[], holder: Json): readonly Block[] {
  const mark = cacheMark(holder)
  return mark === unmarked
    ? blocks
    : blocks.map((block, at) => (at === blocks.length - 1 ? { ...mark, ...block } : block))
}

const unmarked: Json = {}

/** Returns the client's cache mark of a part as `cache_control`; an empty object without a mark. */
export function cacheMark({ cache_control: own, prompt_cache_breakpoint: breakpoint }: Json): Json {
  if (isRecord(own)) return { cache_control: own }
  return isRecord(breakpoint) ? { cache_control: { type: 'ephemeral' } } : unmarked
}

/** Parses the arguments of a tool call. Text that is not a JSON object is wrapped, and recorded as a degradation. */
export function inputOf(text: unknown, path: string, note: Note): Json {
  const raw = textIn(text) ?? ''
  if (raw.trim() === '') return {}
  const input = toolInputIn(raw)
  if (input) return input
  // The model wrote this text, not the client: rejecting the request would block the conversation.
  note(path, 'wrapped')
  return { arguments: raw }
}

/** Converts a content, a string or a list of parts, to blocks. Returns an empty list for an absent content. */
export function contentBlocks(
  content: unknown,
  path: string,
  partBlocks: (part: Json, path: string) => readonly Block[],
): readonly Block[] {
  if (isAbsent(content)) return []
  if (typeof content === 'string') return allPlaced(textBlocks(content), path)
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array`)
  return content.flatMap((part, at) => {
    const own = `${path}.${at}`
    return allPlaced(partBlocks(recordOf(part), own), own)
  })
}

/** Returns the result block of the tool call `id`; `idPath` is the path of the id. Empty results get a placeholder. */
export function resultBlock(id: unknown, content: readonly Block[], idPath: string): Block {
  if (typeof id !== 'string') throw invalid(`${idPath} must refer to a tool call`)
  const shown = content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  return { type: 'tool_result', tool_use_id: toolCallId(id), content: shown }
}
