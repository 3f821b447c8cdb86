import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import { isClaudeBefore } from '../../upstream/bedrock.ts'
import { blocksOf, type Conversion, type Placed } from './conversion.ts'

/** How many a request may hold. */
const maxCachePoints = 4

/** Where a cache point stands, for the list of what was lost. */
const origins = new WeakMap<object, string>()

interface Mark {
  readonly control: unknown
  /** Of the field `cache_control`. */
  readonly path: string
  readonly section: 'tools' | 'system' | 'messages'
}

/** The cache point that a `cache_control` asks for, as a list of one or none. It belongs behind the marked block. */
export function cachePoints({ control, path, section }: Mark, conversion: Conversion): readonly Json[] {
  if (!isRecord(control)) return []
  if (!takesCachePoints(conversion, section)) {
    conversion.note(path, 'dropped')
    return []
  }
  const point = { cachePoint: { type: 'default', ...lifetime(control['ttl'], path, conversion) } }
  origins.set(point, path)
  return [point]
}

/** Nova caches what was said, but not tools; other families take no cache points at all. */
function takesCachePoints({ model }: Conversion, section: Mark['section']): boolean {
  if (model.family === 'claude') return !isClaudeBefore(model, 305)
  return model.family === 'nova' && section !== 'tools'
}

/** Five minutes is what a point without a lifetime gets. */
function lifetime(ttl: unknown, path: string, { model, note }: Conversion): Json {
  if (ttl === undefined || ttl === null) return {}
  const isTaken = model.family === 'claude' && !isClaudeBefore(model, 405)
  if (isTaken && (ttl === '5m' || ttl === '1h')) return { ttl }
  if (ttl !== '5m') note(`${path}.ttl`, 'dropped')
  return {}
}

export const isCachePoint = (block: Json | undefined): boolean => block !== undefined && 'cachePoint' in block

/**
 * A message's content with each cache point where Converse takes it: not first, not behind reasoning, not behind a
 * document that is no PDF. One that finds no place is listed.
 */
export function settleCachePoints(content: readonly Json[], { note }: Pick<Conversion, 'note'>): readonly Json[] {
  const settled: Json[] = []
  for (const block of content) {
    if (!isCachePoint(block)) {
      settled.push(block)
      continue
    }
    let place = settled.length
    while (place > 0 && refusesCachePoint(settled[place - 1])) place--
    // What it covers is covered by the point before it.
    if (isCachePoint(settled[place - 1])) continue
    if (place > 0) settled.splice(place, 0, block)
    else note(origins.get(block) ?? 'cache_control', 'dropped')
  }
  return settled
}

function refusesCachePoint(block: Json | undefined): boolean {
  if (block === undefined) return false
  const document = block['document']
  return 'reasoningContent' in block || (isRecord(document) && document['format'] !== 'pdf')
}

/** The sections of a request in the order in which the model reads them. */
export interface Sections {
  readonly tools: readonly Json[]
  readonly system: readonly Json[]
  readonly messages: readonly (Json & { readonly content: readonly Json[] })[]
}

/** The same sections with as many cache points as a request may hold; the first ones go. */
export function limitCachePoints(sections: Sections, { note }: Pick<Conversion, 'note'>): Sections {
  const { tools, system, messages } = sections
  const all = [...tools, ...system, ...messages.flatMap(({ content }) => content)].filter(isCachePoint)
  if (all.length <= maxCachePoints) return sections
  const excess = new Set(all.slice(0, -maxCachePoints))
  for (const point of excess) note(origins.get(point) ?? 'cache_control', 'dropped')
  const kept = (blocks: readonly Json[]) => blocks.filter(block => !excess.has(block))
  return {
    tools: kept(tools),
    system: kept(system),
    messages: messages.map(message => ({ ...message, content: kept(message.content) })),
  }
}

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
