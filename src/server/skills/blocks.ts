import { type AttachedSkill, skillMarker } from '../../contract/attached-skill.ts'

/** A prompt, and the blocks that were written into it. The markers in the prompt decide what it carries. */
export interface Carrier {
  readonly system: string
  readonly skills: readonly AttachedSkill[]
}

/** What a block is made of. */
export interface BlockSource {
  readonly id: string
  readonly name: string
  readonly content: string
}

/** The most skills that an agent can carry; of pasted ones, too, no more are looked at. */
export const maxCarried = 100

const blankLine = '\n\n'
const markerStart = '<!-- skill:'
/** A marker of ours: an id that the service has made, on a line of its own after a blank one. */
const ownMarker = /(?<=\n\n)<!-- skill:(skill_[0-9a-f]{32}) -->(?=\n|$)/g

/** A blank line, the marker on its line, the content. A marker within the content is made harmless. Gaps: section 9. */
export const blockOf = (id: string, content: string): string =>
  `${blankLine}${skillMarker(id)}\n${content.replaceAll(markerStart, '<!-- skill&#58;')}`

/** Appends the block, unless the prompt carries that skill already: then the very same carrier. */
export function attach(carrier: Carrier, { id, name, content }: BlockSource): Carrier {
  if (placeOf(carrier, id)) return carrier
  const block = blockOf(id, content)
  return { system: carrier.system + block, skills: [...without(carrier, id), { id, name, block }] }
}

/** Takes one block out. The very same carrier when there is none. */
export function detach(carrier: Carrier, id: string): Carrier {
  const place = placeOf(carrier, id)
  if (!place) return carrier
  return { system: replaced(carrier.system, place, ''), skills: without(carrier, id) }
}

/** Takes all blocks out, from the first to the last, so that an edited one ends where the next begins. */
export const detachAll = (carrier: Carrier): Carrier => carriedIds(carrier).reduce(detach, carrier)

/** Puts the content of today in the place of the block. The very same carrier when there is none, or nothing new. */
export function renew(carrier: Carrier, { id, name, content }: BlockSource): Carrier {
  const place = placeOf(carrier, id)
  const block = blockOf(id, content)
  if (!place || carrier.system.slice(place.from, place.to) === block) return carrier
  return { system: replaced(carrier.system, place, block), skills: [...without(carrier, id), { id, name, block }] }
}

/** How a block stands to what the library has, which may be nothing. Undefined when the prompt does not carry it. */
export function copyState(carrier: Carrier, id: string, content: string | undefined) {
  const place = placeOf(carrier, id)
  if (!place) return undefined
  const copy = carrier.system.slice(place.from, place.to)
  if (content !== undefined && copy === blockOf(id, content)) return 'current'
  if (place.isEdited) return 'edited'
  return content === undefined ? 'not_in_library' : 'outdated'
}

/** The skills that a prompt carries, in its order; those that came with pasted text are known by their markers. */
export function carriedIds(carrier: Carrier): string[] {
  const recorded = carrier.skills.map(({ id }) => id)
  const marked = carrier.system.matchAll(ownMarker).map(([, id = '']) => id)
  const ids = new Set([...recorded, ...marked.take(maxCarried)])
  const places = [...ids].flatMap(id => {
    const place = placeOf(carrier, id)
    return place ? [{ id, from: place.from }] : []
  })
  return places.sort((one, other) => one.from - other.from).map(({ id }) => id)
}

interface Place {
  readonly from: number
  readonly to: number
  /** The block is not there as it was written. */
  readonly isEdited: boolean
}

/**
 * Where the block of a skill is: the recorded one to the byte, the last where there are several; else from its marker to
 * the next one, or to the end.
 */
function placeOf({ system, skills }: Carrier, id: string): Place | undefined {
  const block = skills.find(skill => skill.id === id)?.block
  const exact = block === undefined ? -1 : system.lastIndexOf(block)
  const to = exact + (block?.length ?? 0)
  // Text that goes on within the last line was added to the block, not behind it.
  if (exact >= 0 && /^[\r\n]?$/.test(system.slice(to, to + 1))) return { from: exact, to, isEdited: false }
  const marker = skillMarker(id)
  const at = system.lastIndexOf(marker)
  if (at < 0) return undefined
  const next = system.indexOf(markerStart, at + marker.length)
  return { from: beforeBlank(system, at), to: next < 0 ? system.length : beforeBlank(system, next), isEdited: true }
}

/** The blank line before a marker belongs to its block. */
const beforeBlank = (system: string, at: number): number =>
  system.startsWith(blankLine, at - blankLine.length) ? at - blankLine.length : at

const replaced = (system: string, { from, to }: Place, by: string): string =>
  system.slice(0, from) + by + system.slice(to)

const without = ({ skills }: Carrier, id: string): AttachedSkill[] => skills.filter(skill => skill.id !== id)
