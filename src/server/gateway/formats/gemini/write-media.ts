import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText, recordsOf } from '../../../platform/json.ts'
import type { Degradations } from './traits.ts'

/** Block with its path in the request, and the list for its degradations. */
export interface Placed {
  readonly block: Json
  readonly path: string
  readonly degradations: Degradations
}

const typesOfEnding: Readonly<Record<string, string>> = {
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  mov: 'video/mov',
  mp3: 'audio/mp3',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
}

/** Converts a block with an image, audio or video. */
export function mediaPart(placed: Placed): Json {
  const { block, path } = placed
  const source = sourceOf(placed)
  switch (source['type']) {
    case 'base64':
      return inline(nonEmptyText(source['media_type']) ?? 'image/png', source['data'])
    case 'url':
      return linked(placed, block['type'] === 'media' ? 'video/mp4' : 'image/jpeg')
    default:
      throw invalid(`${path}.source: ${typeName(block, source)} is not available for this model`)
  }
}

/** Converts a document block. Text documents become text parts. */
export function documentParts(placed: Placed): readonly Json[] {
  const { block, path, degradations } = placed
  const source = sourceOf(placed)
  const { citations } = block
  if (isRecord(citations) && citations['enabled'] === true) degradations.note(`${path}.citations`, 'dropped')
  return [...headingOf(block), ...bodyOf(placed, source)]
}

function bodyOf(placed: Placed, source: Json): readonly Json[] {
  const { block, path } = placed
  switch (source['type']) {
    case 'base64':
      return [inline(nonEmptyText(source['media_type']) ?? 'application/pdf', source['data'])]
    case 'url':
      return [linked(placed, 'application/pdf')]
    case 'text':
      return textParts(source['data'])
    case 'content':
      return contentParts({ ...placed, path: `${path}.source.content` }, source['content'])
    default:
      throw invalid(`${path}.source: ${typeName(block, source)} is not available for this model`)
  }
}

function contentParts(placed: Placed, content: unknown): readonly Json[] {
  if (typeof content === 'string') return textParts(content)
  return recordsOf(content).flatMap((block, index) => {
    if (block['type'] === 'image') return [mediaPart({ ...placed, block, path: `${placed.path}.${index}` })]
    return textParts(block['text'])
  })
}

/** Returns a search result as text: title, source and content. */
export function searchResultText({ title, source, content }: Json): string {
  const head = [nonEmptyText(title), nonEmptyText(source)].filter(line => line !== undefined)
  const body = recordsOf(content).flatMap(block => nonEmptyText(block['text']) ?? [])
  return [...head, ...body].join('\n')
}

function headingOf({ title, context }: Json): readonly Json[] {
  const lines = [nonEmptyText(title), nonEmptyText(context)].filter(line => line !== undefined)
  return lines.length === 0 ? [] : [{ text: `Document: ${lines.join('\n')}` }]
}

/** Returns a text part in a list; an empty list for an empty text, which Gemini rejects. */
export function textParts(text: unknown): readonly Json[] {
  const found = nonEmptyText(text)
  return found === undefined ? [] : [{ text: found }]
}

function sourceOf({ block, path }: Placed): Json {
  const { source } = block
  if (!isRecord(source)) throw invalid(`${path}.source must be an object`)
  return source
}

const inline = (mimeType: string, data: unknown): Json => ({ inlineData: { mimeType, data } })

const dataUrl = /^data:([^;,]+);base64,(.*)$/s

function linked({ block, path, degradations }: Placed, fallback: string): Json {
  const url = isRecord(block['source']) ? nonEmptyText(block['source']['url']) : undefined
  if (url === undefined) throw invalid(`${path}.source.url must be a string`)
  const [, type, data] = dataUrl.exec(url) ?? []
  if (type !== undefined) return inline(type, data)
  const [, ending = ''] = /\.(\w+)(?:[?#]|$)/.exec(url) ?? []
  const mimeType = typesOfEnding[ending.toLowerCase()]
  // Gemini requires the media type of files that it fetches.
  if (mimeType === undefined) degradations.note(`${path}.source.url`, 'type_guessed')
  return { fileData: { mimeType: mimeType ?? fallback, fileUri: url } }
}

const typeName = (block: Json, source: Json): string =>
  `${String(block['type']).slice(0, 40)} source of type ${String(source['type']).slice(0, 40)}`
