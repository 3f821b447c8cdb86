import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import { storedFile } from '../shared/content-parts.ts'
import { detailOf, endsPrefix, withBreakpointOf } from '../shared/extras.ts'
import { toolReferenceText } from '../shared/tools.ts'
import type { Note } from './conversion.ts'

/** Part of a user message or a tool output. */
export type InputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: string }
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }
  | { readonly type: 'input_file'; readonly file_url: string }
  | { readonly type: 'input_file'; readonly file_id: string }

/** Returns the blocks of a content, a string or an array. Throws `invalid_request` with `path` for other values. */
export function blocksOf(content: unknown, path: string): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw invalid(`${path} must be a string or an array`)
  return content.map((block: unknown, index) => {
    if (isRecord(block)) return block
    throw invalid(`${path}.${index} must be an object`)
  })
}

/** Converts a block to input parts; `path` is the block's. Throws `invalid_request` for one without an equivalent. */
export const inputParts = (block: Json, path: string, note: Note): readonly InputPart[] =>
  withBreakpointOf(block, plainParts(block, path, note))

function plainParts(block: Json, path: string, note: Note): readonly InputPart[] {
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
      return textParts(toolReferenceText(block))
    default:
      throw noEquivalent(path, `a block of type ${textOf(block['type']).slice(0, 100)}`)
  }
}

/** Returns a text part in a list; an empty list for an empty text, which the upstream may reject. */
export const textParts = (text: string): readonly InputPart[] => (text === '' ? [] : [{ type: 'input_text', text }])

/** Returns the error for content that has no equivalent and must not be dropped. */
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
    : invalid(`${path}.source of type ${type || 'none'} is not supported`)
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

/** Converts a tool result; `path` is the block's. Returns a string if all parts are text without breakpoints. */
export function toolOutput(result: Json, path: string, note: Note): string | readonly InputPart[] {
  const { content, is_error: isError } = result
  const blocks = content === undefined || content === null ? [] : blocksOf(content, `${path}.content`)
  const contentParts = blocks.flatMap((block, index) => inputParts(block, `${path}.content.${index}`, note))
  const parts = withBreakpointOf(result, [
    ...(isError === true ? textParts(failed) : []),
    ...(contentParts.length === 0 ? textParts('(no output)') : contentParts),
  ])
  const texts = parts.flatMap(part => (part.type === 'input_text' && !endsPrefix(part) ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}
