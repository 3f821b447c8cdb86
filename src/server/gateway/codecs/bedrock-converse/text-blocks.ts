import { type Json, textOf } from '../../../platform/json.ts'
import { blocksOf, type Conversion, type Placed } from './conversion.ts'

/** A text block of Converse, as a list of one or none: blank text is refused. */
export function textBlocks(text: unknown): readonly Json[] {
  const found = textOf(text)
  return found.trim() === '' ? [] : [{ text: found }]
}

/** A `search_result` block: Claude knows them, others read it as text. */
export function searchResultBlocks({ block, path }: Placed, { model, note }: Conversion): readonly Json[] {
  const source = textOf(block['source'])
  const title = textOf(block['title'])
  const texts = blocksOf(block['content'], `${path}.content`).map(part => textOf(part.block['text']))
  const content = texts.filter(text => text.trim() !== '').map(text => ({ text }))
  if (model.family === 'claude' && source !== '' && title !== '' && content.length > 0)
    return [{ searchResult: { source, title, content } }]
  note(path, 'as_text')
  return textBlocks([title, source, ...texts].filter(text => text !== '').join('\n'))
}
