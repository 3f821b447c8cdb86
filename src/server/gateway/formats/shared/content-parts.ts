import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import { allPlaced } from '../../core/degradations.ts'
import type { Note } from './settings.ts'
import { toolCallId } from './tools.ts'

/** A content block in Anthropic's format. */
export type Block = Json & { readonly type: string }

/** A text block, or none for a text that Anthropic's format refuses: one without anything to read. */
export const textBlocks = (text: unknown, part: Json = {}): readonly Block[] =>
  typeof text === 'string' && text.trim() !== '' ? [{ type: 'text', text, ...cacheMark(part) }] : []

/** Media type and parameters, which must end in `;base64`. */
const dataUrl = /^data:([^;,]+)(?:;[^;,]*)*;base64,/

/** An image at a web address or in a data URL. */
export function imageBlock(url: unknown, part: Json, path: string): Block {
  if (typeof url !== 'string') throw invalid(`${path} must be a URL`)
  return { type: 'image', source: urlSource(url, path), ...cacheMark(part) }
}

function urlSource(url: string, path: string): Json {
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  const found = dataUrl.exec(url)
  if (!found) throw invalid(`${path} must be an http(s) address or a base64 data URL`)
  return { type: 'base64', media_type: found[1], data: url.slice(found[0].length) }
}

interface FilePlace {
  readonly path: string
  /** True for upstreams that keep the files which the client names by their ids. */
  readonly takesIds: boolean
}

/** A file with its data or address: PDF and text can be read. Files by id are stored elsewhere, or at the upstream. */
export function fileBlock(file: Json, part: Json, { path, takesIds }: FilePlace): Block {
  const { file_data: data, file_url: url, file_id: id, filename } = file
  const title = textIn(filename)
  const isStored = takesIds && isAbsent(data) && isAbsent(url) && typeof id === 'string'
  const source = isStored
    ? { type: storedFile, file_id: id }
    : fileSource({ data: textIn(data), url: textIn(url), title }, path)
  if (!source)
    throw invalid(
      id === undefined
        ? `${path} has no file_data`
        : `${path}.file_id: stored files cannot be read here; send the data`,
    )
  if (source['type'] === 'image') return { type: 'image', source: source['source'], ...cacheMark(part) }
  return { type: 'document', source, ...(title !== undefined && { title }), ...cacheMark(part) }
}

/** The type of a source that is a file at OpenAI: Anthropic's files have ids of their own. */
export const storedFile = 'openai_file'

interface FileParts {
  readonly data: string | undefined
  readonly url: string | undefined
  readonly title: string | undefined
}

function fileSource({ data, url, title }: FileParts, path: string): Json | undefined {
  if (url !== undefined) return urlSource(url, `${path}.file_url`)
  if (data === undefined) return undefined
  const found = dataUrl.exec(data)
  const mediaType = found?.[1] ?? (title?.toLowerCase().endsWith('.txt') ? 'text/plain' : 'application/pdf')
  const payload = data.slice(found?.[0].length ?? 0)
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: payload }
  if (mediaType.startsWith('image/'))
    return { type: 'image', source: { type: 'base64', media_type: mediaType, data: payload } }
  if (mediaType.startsWith('text/') || mediaType === 'application/json')
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(payload, 'base64').toString() }
  throw invalid(`${path}.file_data: files of type ${mediaType} cannot be read here`)
}

/** Blocks of which the last has the mark that `holder`, a message or a call's result, carries for all of them. */
export function markedAtEnd(blocks: readonly Block[], holder: Json): readonly Block[] {
  const mark = cacheMark(holder)
  return mark === unmarked
    ? blocks
    : blocks.map((block, at) => (at === blocks.length - 1 ? { ...mark, ...block } : block))
}

const unmarked: Json = {}

/** A mark of the client's where its prompt may be cached. */
export function cacheMark({ cache_control: own, prompt_cache_breakpoint: breakpoint }: Json): Json {
  if (isRecord(own)) return { cache_control: own }
  return isRecord(breakpoint) ? { cache_control: { type: 'ephemeral' } } : unmarked
}

/** An object as the text of a tool call's arguments holds it; anything else is wrapped and taken down. */
export function inputOf(text: unknown, path: string, note: Note): Json {
  const raw = textIn(text) ?? ''
  if (raw.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(raw)
    if (isRecord(value)) return value
  } catch {
    // The model wrote it, so there is nobody to refuse it to: it must come back as it was said.
  }
  note(path, 'wrapped')
  return { arguments: raw }
}

/** The blocks of a content that is a text or a list of parts; none when it is absent. */
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

/** What a tool gave for the call `id`; `idPath` is where that stands. A result must hold something. */
export function resultBlock(id: unknown, content: readonly Block[], idPath: string): Block {
  if (typeof id !== 'string') throw invalid(`${idPath} must name a call`)
  const shown = content.length > 0 ? content : [{ type: 'text', text: '(no output)' }]
  return { type: 'tool_result', tool_use_id: toolCallId(id), content: shown }
}
