import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import { storedFile } from '../shared/content-parts.ts'
import { detailOf, endsPrefix, withBreakpointOf } from '../shared/extras.ts'

/** A message of a Chat request. */
export type ChatMessage = Json & { readonly role: 'system' | 'user' | 'assistant' | 'tool' }

/** A part of a Chat message's content. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string; readonly detail?: string } }
  | { readonly type: 'file'; readonly file: FileOfPart }

type FileOfPart = { readonly filename: string; readonly file_data: string } | { readonly file_id: string }

/** What a conversion may know, and where it tells what it could not carry over. */
export interface Conversion {
  readonly lose: (path: string, action: string) => void
  /** The state in a signature of ours for this provider. */
  readonly openReasoning: (signature: string) => string | undefined
  /** True for upstreams that fetch a file by its address; OpenAI's Chat does not. */
  readonly takesFileUrls: boolean
}

/** A block with the place where it stands, such as `messages.3.content.1`. */
export interface Placed {
  readonly block: Json
  readonly path: string
}

/** Where one text ends and the next begins, once they share a string. */
const between = '\n\n'

/** The blocks of a message or a result; text by itself is one block. */
export function blocksOf(content: unknown, path: string): readonly Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array of blocks`)
  return content.map((block: unknown, index) => {
    if (!isRecord(block)) throw invalid(`${path}.${index} must be an object`)
    return { block, path: `${path}.${index}` }
  })
}

/** Tells of a cache mark, which Chat has no field for. */
export function loseCacheControl({ block, path }: Placed, { lose }: Conversion): void {
  if (isRecord(block['cache_control'])) lose(`${path}.cache_control`, 'dropped')
}

/** The parts that say what a block of a user, or of a tool's result, says; none for a block that had to be dropped. */
export function partsOf(placed: Placed, conversion: Conversion): readonly Part[] {
  loseCacheControl(placed, conversion)
  return withBreakpointOf(placed.block, unmarkedParts(placed, conversion))
}

function unmarkedParts(placed: Placed, conversion: Conversion): readonly Part[] {
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
      return textParts(`Tool: ${textOf(block['tool_name'])}`)
    default:
      conversion.lose(path, 'dropped')
      return []
  }
}

/** Texts in one, without the empty ones. */
export const joinedText = (texts: readonly string[]): string => texts.filter(text => text !== '').join(between)

/** One string where all parts are text and none ends a prefix, which every server understands; else the parts. */
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
  if (recordOf(block['citations'])['enabled'] === true) conversion.lose(`${path}.citations`, 'dropped')
  switch (source['type']) {
    case 'base64':
      return [...about, file(title, dataUrl(source))]
    case storedFile:
      return [...textParts(textOf(block['context'])), { type: 'file', file: { file_id: textOf(source['file_id']) } }]
    case 'url':
      return [...about, addressedFile({ title, url: textOf(source['url']), path }, conversion)]
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

interface Addressed {
  readonly title: string
  readonly url: string
  readonly path: string
}

function addressedFile({ title, url, path }: Addressed, { lose, takesFileUrls }: Conversion): Part {
  if (takesFileUrls) return file(title, url)
  lose(path, 'url_sent_as_text')
  return { type: 'text', text: `Document: ${url}` }
}

const file = (title: string, data: string): Part => ({
  type: 'file',
  file: { filename: /\.pdf$/i.test(title) ? title : `${title || 'document'}.pdf`, file_data: data },
})

const unknownSource = (source: Json, path: string) =>
  invalid(`${path}.source.type: ${textOf(source['type']).slice(0, 50)} is not available at this model's provider`)
