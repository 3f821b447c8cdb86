import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import { isClaudeBefore } from '../../upstream/bedrock.ts'
import { blocksOf, type Conversion, type Placed } from './conversion.ts'

/** Limit of cache points in a request. */
const maxCachePoints = 4

type PointNotes = Pick<Conversion, 'note' | 'cachePointPaths'>

interface Mark {
  readonly control: unknown
  /** Path of the field `cache_control`. */
  readonly path: string
  readonly section: 'tools' | 'system' | 'messages'
}

/** Returns the cache point for a `cache_control`, in a list of at most one. It must follow the marked block. */
export function cachePoints({ control, path, section }: Mark, conversion: Conversion): readonly Json[] {
  if (!isRecord(control)) return []
  if (!takesCachePoints(conversion, section)) {
    conversion.note(path, 'dropped')
    return []
  }
  const point = { cachePoint: { type: 'default', ...lifetime(control['ttl'], path, conversion) } }
  conversion.cachePointPaths.set(point, path)
  return [point]
}

/** Returns true if the model accepts cache points in a section: Claude in all, Nova not in tools, others in none. */
function takesCachePoints({ model }: Conversion, section: Mark['section']): boolean {
  if (model.family === 'claude') return !isClaudeBefore(model, 305)
  return model.family === 'nova' && section !== 'tools'
}

/** Returns the `ttl` of a cache point. A point without one lasts 5 minutes. */
function lifetime(ttl: unknown, path: string, { model, note }: Conversion): Json {
  if (ttl === undefined || ttl === null) return {}
  const isAccepted = model.family === 'claude' && !isClaudeBefore(model, 405)
  if (isAccepted && (ttl === '5m' || ttl === '1h')) return { ttl }
  if (ttl !== '5m') note(`${path}.ttl`, 'dropped')
  return {}
}

export const isCachePoint = (block: Json | undefined): boolean => block !== undefined && 'cachePoint' in block

/**
 * Moves each cache point to a position that Converse accepts: not first, not after reasoning, and after no document
 * other than a PDF. A point without such a position is dropped and recorded.
 */
export function placeCachePoints(content: readonly Json[], { note, cachePointPaths }: PointNotes): readonly Json[] {
  const placed: Json[] = []
  for (const block of content) {
    if (!isCachePoint(block)) {
      placed.push(block)
      continue
    }
    let place = placed.length
    while (place > 0 && rejectsCachePoint(placed[place - 1])) place--
    // The previous point covers the same prefix.
    if (isCachePoint(placed[place - 1])) continue
    if (place > 0) placed.splice(place, 0, block)
    else note(cachePointPaths.get(block) ?? 'cache_control', 'dropped')
  }
  return placed
}

function rejectsCachePoint(block: Json | undefined): boolean {
  if (block === undefined) return false
  const document = block['document']
  return 'reasoningContent' in block || (isRecord(document) && document['format'] !== 'pdf')
}

/** Sections of a request, in the order in which the model reads them. */
export interface Sections {
  readonly tools: readonly Json[]
  readonly system: readonly Json[]
  readonly messages: readonly (Json & { readonly content: readonly Json[] })[]
}

/** Removes the first cache points above the limit of a request. */
export function limitCachePoints(sections: Sections, { note, cachePointPaths }: PointNotes): Sections {
  const { tools, system, messages } = sections
  const all = [...tools, ...system, ...messages.flatMap(({ content }) => content)].filter(isCachePoint)
  if (all.length <= maxCachePoints) return sections
  const excess = new Set(all.slice(0, -maxCachePoints))
  for (const point of excess) note(cachePointPaths.get(point) ?? 'cache_control', 'dropped')
  const withoutExcess = (blocks: readonly Json[]) => blocks.filter(block => !excess.has(block))
  return {
    tools: withoutExcess(tools),
    system: withoutExcess(system),
    messages: messages.map(message => ({ ...message, content: withoutExcess(message.content) })),
  }
}

/** Returns a text block in a list; an empty list for a blank text, which Converse rejects. */
export function textBlocks(text: unknown): readonly Json[] {
  const found = textOf(text)
  return found.trim() === '' ? [] : [{ text: found }]
}

/** Converts a `search_result` block. Models other than Claude get it as text. */
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
