import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import { storedFile } from '../shared/content-parts.ts'
import { detailOf, endsPrefix, withBreakpointOf } from '../shared/extras.ts'
import type { Note } from './conversion.ts'

/** A part of a user message or of a tool's output. */
export type InputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: string }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }
  | { readonly type: 'input_file'; readonly file_url: string }
  | { readonly type: 'input_file'; readonly file_id: string }

/** The blocks of a `content`: a string is one text block. Throws for any other value; `path` says whose content. */
export function blocksOf(content: unknown, path: string): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array`)
  return content.map((block: unknown, index) => {
    if (isRecord(block)) return block
    throw invalid(`${path}.${index} must be an object`)
  })
}

/** A block as parts of input; `path` is the block's. Throws for a block that has no equivalent. */
export const inputParts = (block: Json, path: string, note: Note): readonly InputPart[] =>
  withBreakpointOf(block, unmarkedParts(block, path, note))

function unmarkedParts(block: Json, path: string, note: Note): readonly InputPart[] {
  switch (block['type']) {
    case 'text':
      return textParts(textOf(block['text']))
    case 'image':
      return [{ type: 'input_image', image_url: imageUrl(block['source'], path), detail: detailOf(block) ?? 'auto' }]
    case 'document':
      return documentParts(block, path, note)
    case 'search_result':
      return textParts(searchResultText(block))
    case 'tool_reference':
      return textParts(`Tool found: ${textOf(block['tool_name'])}`)
    default:
      throw noEquivalent(path, `a block of type ${textOf(block['type']).slice(0, 100)}`)
  }
}

/** No part for no text: the upstream refuses empty ones in places. */
export const textParts = (text: string): readonly InputPart[] => (text === '' ? [] : [{ type: 'input_text', text }])

/** The refusal of something that must not be dropped. */
export const noEquivalent = (path: string, what: string) =>
  invalid(`${path}: ${what} has no equivalent at the provider of this model`)

function imageUrl(source: unknown, path: string): string {
  if (isRecord(source)) {
    const { type, url, media_type: mediaType, data } = source
    if (type === 'url' && typeof url === 'string') return url
    if (type === 'base64' && typeof data === 'string') return `data:${textOf(mediaType)};base64,${data}`
  }
  throw noSource(source, path)
}

function noSource(source: unknown, path: string) {
  const type = isRecord(source) ? textOf(source['type']).slice(0, 100) : ''
  return type === 'file'
    ? noEquivalent(`${path}.source`, 'a file of the Anthropic Files API')
    : invalid(`${path}.source of type ${type || 'none'} cannot be read`)
}

function documentParts(block: Json, path: string, note: Note): readonly InputPart[] {
  const source = isRecord(block['source']) ? block['source'] : {}
  const { type, data, url } = source
  if (isRecord(block['citations']) && block['citations']['enabled'] === true) note(`${path}.citations`, 'dropped')
  const title = textOf(block['title'])
  const context = textParts(textOf(block['context']))
  const caption = [...textParts(title), ...context]
  if (type === 'base64' && typeof data === 'string') {
    const file_data = `data:${textOf(source['media_type']) || 'application/pdf'};base64,${data}`
    return [...context, { type: 'input_file', filename: title || 'document.pdf', file_data }]
  }
  if (type === storedFile) return [...context, { type: 'input_file', file_id: textOf(source['file_id']) }]
  if (type === 'url' && typeof url === 'string') return [...caption, { type: 'input_file', file_url: url }]
  if (type === 'text' && typeof data === 'string') return [...caption, ...textParts(data)]
  if (type === 'content') {
    const inner = `${path}.source.content`
    const blocks = blocksOf(source['content'], inner)
    return [...caption, ...blocks.flatMap((part, index) => inputParts(part, `${inner}.${index}`, note))]
  }
  throw noSource(source, path)
}

function searchResultText(block: Json): string {
  const texts = recordsOf(block['content']).map(part => textOf(part['text']))
  return [textOf(block['title']), textOf(block['source']), ...texts].filter(text => text !== '').join('\n')
}

const failed = 'The tool call failed:'

/** The output of a tool call: a string where there is only text without marks, never an empty one. `path` is the result's block. */
export function toolOutput(result: Json, path: string, note: Note): string | readonly InputPart[] {
  const { content, is_error: isError } = result
  const blocks = content === undefined || content === null ? [] : blocksOf(content, `${path}.content`)
  const said = blocks.flatMap((block, index) => inputParts(block, `${path}.content.${index}`, note))
  const parts = withBreakpointOf(result, [
    ...(isError === true ? textParts(failed) : []),
    ...(said.length === 0 ? textParts('(no output)') : said),
  ])
  const texts = parts.flatMap(part => (part.type === 'input_text' && !endsPrefix(part) ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}
