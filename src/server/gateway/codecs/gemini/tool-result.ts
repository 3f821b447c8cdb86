import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import { documentParts, imagePart, type Placed, searchResultText } from './media.ts'

interface Options {
  readonly placed: Placed
  /** Of the function that was called. */
  readonly name: string
  /** The id to send; undefined where the upstream knows no ids. */
  readonly id: string | undefined
  readonly takesMedia: boolean
}

interface ConvertedResult {
  /** The `functionResponse` part. */
  readonly response: Json
  /** What has to follow in the user's turn. */
  readonly moved: readonly Json[]
}

/** What may be inside of a function's response. Source: Google's list for multimodal function responses. */
const nestable = new Set(['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])

const movedNote = '(the content follows in this message)'
const emptyNote = '(no content)'

/** A tool_result as Gemini reads it. Media stay inside where the model takes them, else they follow. */
export function convertToolResult({ placed, name, id, takesMedia }: Options): ConvertedResult {
  const { block } = placed
  const { texts, media } = readContent(placed)
  const nested = media.filter(({ part }) => takesMedia && isNestable(part))
  const moved = media.filter(each => !nested.includes(each))
  for (const { path, kind } of moved) placed.losses.note(path, `${kind}_moved`)
  const text = texts.join('\n')
  const said = text !== '' ? text : moved.length > 0 ? movedNote : emptyNote
  const response = {
    ...(id !== undefined && { id }),
    name,
    response: block['is_error'] === true ? { error: said } : { result: said },
    ...(nested.length > 0 && { parts: nested.map(({ part }) => part) }),
  }
  const heading = { text: `Content of the result of ${name}${id === undefined ? '' : ` (${id})`}:` }
  return {
    response: { functionResponse: response },
    moved: moved.length > 0 ? [heading, ...moved.map(({ part }) => part)] : [],
  }
}

/** The text of a result whose call is not in the conversation. */
export function orphanText(placed: Placed): readonly Json[] {
  const { texts, media } = readContent(placed)
  const text = ['Result of an earlier tool call:', ...texts].join('\n')
  return [{ text }, ...media.map(({ part }) => part)]
}

interface Media {
  readonly kind: 'image' | 'document'
  readonly path: string
  readonly part: Json
}

interface Content {
  readonly texts: readonly string[]
  readonly media: readonly Media[]
}

function readContent({ block, path, losses }: Placed): Content {
  const { content } = block
  if (typeof content === 'string') return { texts: content === '' ? [] : [content], media: [] }
  const texts: string[] = []
  const media: Media[] = []
  for (const [index, inner] of (Array.isArray(content) ? content : []).entries()) {
    if (!isRecord(inner)) continue
    losses.markCache(inner)
    readInner({ block: inner, path: `${path}.content.${index}`, losses }, texts, media)
  }
  return { texts, media }
}

function readInner(placed: Placed, texts: string[], media: Media[]): void {
  const { block, path, losses } = placed
  switch (block['type']) {
    case 'text':
      texts.push(...[nonEmptyText(block['text'])].filter(text => text !== undefined))
      break
    case 'image':
      media.push({ kind: 'image', path, part: imagePart(placed) })
      break
    case 'document':
      for (const part of documentParts(placed)) {
        if (typeof part['text'] === 'string') texts.push(part['text'])
        else media.push({ kind: 'document', path, part })
      }
      break
    case 'search_result':
      texts.push(searchResultText(block))
      break
    default:
      losses.note(path, 'dropped')
  }
}

function isNestable({ inlineData }: Json): boolean {
  const type = isRecord(inlineData) ? nonEmptyText(inlineData['mimeType']) : undefined
  return type !== undefined && nestable.has(type)
}
