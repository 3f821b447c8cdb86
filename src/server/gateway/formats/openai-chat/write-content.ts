import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import { storedFile } from '../shared/content-parts.ts'
import { detailOf, endsPrefix, withBreakpointOf } from '../shared/extras.ts'
import { toolReferenceText } from '../shared/tools.ts'

/** Message of a chat request. */
export type ChatMessage = Json & { readonly role: 'system' | 'user' | 'assistant' | 'tool' }

/** Content part of a chat message. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'file'; readonly file: FileOfPart }

type FileOfPart = { readonly filename: string; readonly file_data: string } | { readonly file_id: string }

/** Rules of some models for messages, on servers with OpenAI's format. */
export interface MessageRules {
  /** True for models whose chat template accepts instructions only at the start, and no two turns of the user in a row. */
  readonly hasStrictTurns: boolean
  /** Returns the upstream's id of a tool call for the client's. */
  readonly callIdOf: (id: string) => string
  /** True for models that reject an answer of theirs without its `reasoning_content`. */
  readonly needsReasoning: boolean
  /** Returns further fields of the first call in a turn. */
  readonly firstCallFields: (id: string) => Json
}

/** Context of a conversion. */
export interface Conversion {
  /** Records a degradation. */
  readonly note: (path: string, action: string) => void
  /** Returns the state in a signature made here for this provider; undefined for any other. */
  readonly openReasoning: (signature: string) => string | undefined
  readonly rules: MessageRules
  /** True for upstreams that fetch files by URL. OpenAI's Chat Completions does not. */
  readonly takesFileUrls: boolean
}

/** Block with its path, such as `messages.3.content.1`. */
export interface Placed {
  readonly block: Json
  readonly path: string
}

/** Separator of joined texts. */
const separator = '\n\n'

/** Returns the blocks of a message or a result. A string is one block. */
export function blocksOf(content: unknown, path: string): readonly Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array of blocks`)
  return content.map((block: unknown, index) => {
    if (!isRecord(block)) throw invalid(`${path}.${index} must be an object`)
    return { block, path: `${path}.${index}` }
  })
}

/** Records a dropped `cache_control`, for which Chat Completions has no field. */
export function noteCacheControl({ block, path }: Placed, { note }: Conversion): void {
  if (isRecord(block['cache_control'])) note(`${path}.cache_control`, 'dropped')
}

/** Converts a block of a user message or a tool result. A block without an equivalent is dropped and recorded. */
export function partsOf(placed: Placed, conversion: Conversion): readonly Part[] {
  noteCacheControl(placed, conversion)
  return withBreakpointOf(placed.block, plainParts(placed, conversion))
}

function plainParts(placed: Placed, conversion: Conversion): readonly Part[] {
  const { block, path } = placed
  switch (block['type']) {
    case 'text':
      return textParts(textOf(block['text']))
    case 'image':
      return [{ type: 'image_url', image_url: imageOf(block, path) }]
    case 'document':
      return documentParts(placed, conversion)
    case 'search_result':
      return textParts(joinedText(['title', 'source'].map(name => textOf(block[name])).concat(innerTexts(block))))
    case 'tool_reference':
      return textParts(toolReferenceText(block))
    default:
      conversion.note(path, 'dropped')
      return []
  }
}

/** Joins the texts that are not empty. */
export const joinedText = (texts: readonly string[]): string => texts.filter(text => text !== '').join(separator)

/** Returns one string, which all servers accept, if all parts are text without a cache breakpoint; else the parts. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const texts = parts.map(part => (part.type === 'text' ? part.text : undefined))
  return texts.every(text => text !== undefined) && !parts.some(endsPrefix) ? joinedText(texts) : parts
}

const textParts = (text: string): readonly Part[] => (text === '' ? [] : [{ type: 'text', text }])

const innerTexts = (block: Json): string[] => listOf(block['content']).map(inner => textOf(recordOf(inner)['text']))

function imageOf(block: Json, path: string) {
  const detail = detailOf(block)
  return { url: imageUrl(recordOf(block['source']), path), ...(detail !== undefined && { detail }) }
}

function imageUrl(source: Json, path: string): string {
  if (source['type'] === 'base64') return dataUrl(source)
  const url = textOf(source['url'])
  if (source['type'] === 'url' && url !== '') return url
  throw unknownSource(source, path)
}

const dataUrl = (source: Json): string => `data:${textOf(source['media_type'])};base64,${textOf(source['data'])}`

function documentParts({ block, path }: Placed, conversion: Conversion): readonly Part[] {
  const source = recordOf(block['source'])
  const title = textOf(block['title'])
  const about = textParts(joinedText([title, textOf(block['context'])]))
  if (recordOf(block['citations'])['enabled'] === true) conversion.note(`${path}.citations`, 'dropped')
  switch (source['type']) {
    case 'base64':
      return [...about, file(title, dataUrl(source))]
    case storedFile:
      return [...textParts(textOf(block['context'])), { type: 'file', file: { file_id: textOf(source['file_id']) } }]
    case 'url':
      return [...about, fileByUrl({ title, url: textOf(source['url']), path }, conversion)]
    case 'text':
      return [...about, ...textParts(textOf(source['data']))]
    case 'content':
      return [
        ...about,
        ...blocksOf(source['content'], `${path}.source.content`).flatMap(placed => partsOf(placed, conversion)),
      ]
    default:
      throw unknownSource(source, path)
  }
}

interface FileUrl {
  readonly title: string
  readonly url: string
  readonly path: string
}

function fileByUrl({ title, url, path }: FileUrl, { note, takesFileUrls }: Conversion): Part {
  if (takesFileUrls) return file(title, url)
  note(path, 'url_sent_as_text')
  return { type: 'text', text: `Document: ${url}` }
}

const file = (title: string, data: string): Part => ({
  type: 'file',
  file: { filename: /\.pdf$/i.test(title) ? title : `${title || 'document'}.pdf`, file_data: data },
})

const unknownSource = (source: Json, path: string) =>
  invalid(`${path}.source.type: ${textOf(source['type']).slice(0, 50)} is not supported by the provider of this model`)
