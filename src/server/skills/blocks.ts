import { type AttachedSkill, skillMarker } from '../../contract/attached-skill.ts'

/** A prompt and the blocks that were written into it. The markers in the prompt decide which skills are attached. */
export interface PromptWithSkills {
  readonly system: string
  readonly skills: readonly AttachedSkill[]
}

export interface BlockSource {
  readonly id: string
  readonly name: string
  readonly content: string
  /** Version that was asked for, as it was named; undefined: the default version. */
  readonly version?: string | undefined
}

/** Maximum skills per agent; also the maximum of pasted markers that are read. */
export const maxAttached = 100

const blankLine = '\n\n'
/** Start of every marker. */
export const markerStart = '<!-- skill:'
const escapedStart = '<!-- skill&#58;'
/** A skill marker: an id of the service, on a separate line after a blank line. */
const ownMarker = /(?<=\n\n)<!-- skill:(skill_[0-9a-f]{32}) -->(?=\n|$)/g

/** Returns a blank line, the marker line and the content. Markers in the content are escaped. Gaps: section 9. */
export const blockOf = (id: string, content: string): string =>
  `${blankLine}${skillMarker(id)}\n${content.replaceAll(markerStart, escapedStart)}`

/** Appends the block. Returns the same object when the skill is attached already. */
export function attach(prompt: PromptWithSkills, { id, name, content, version }: BlockSource): PromptWithSkills {
  if (placeOf(prompt, id)) return prompt
  const block = blockOf(id, content)
  const attached = { id, name, block, ...(version !== undefined && { version }) }
  return { system: prompt.system + block, skills: [...without(prompt, id), attached] }
}

/** Removes one block. Returns the same object when the skill is not attached. */
export function detach(prompt: PromptWithSkills, id: string): PromptWithSkills {
  const place = placeOf(prompt, id)
  if (!place) return prompt
  return { system: replaced(prompt.system, place, ''), skills: without(prompt, id) }
}

/** Removes all blocks, first to last, because an edited block ends where the next begins. */
export const detachAll = (prompt: PromptWithSkills): PromptWithSkills => attachedIds(prompt).reduce(detach, prompt)

/** Replaces the block with the given content. Returns the same object when the skill is not attached or is current. */
export function renew(prompt: PromptWithSkills, { id, name, content }: BlockSource): PromptWithSkills {
  const place = placeOf(prompt, id)
  const block = blockOf(id, content)
  if (!place || prompt.system.slice(place.from, place.to) === block) return prompt
  return { system: replaced(prompt.system, place, block), skills: [...without(prompt, id), { id, name, block }] }
}

/**
 * Compares a block with the library's content (undefined: not in the library). Undefined when the skill is not
 * attached.
 */
export function copyState(prompt: PromptWithSkills, id: string, content: string | undefined) {
  const place = placeOf(prompt, id)
  if (!place) return undefined
  const copy = prompt.system.slice(place.from, place.to)
  if (content !== undefined && copy === blockOf(id, content)) return 'current'
  if (place.isEdited) return 'edited'
  return content === undefined ? 'not_in_library' : 'outdated'
}

/** Returns the content of an agent's copy as it was attached, with edits; undefined when the skill is not attached. */
export function copyOf(prompt: PromptWithSkills, id: string): string | undefined {
  const place = placeOf(prompt, id)
  if (!place) return undefined
  const block = prompt.system.slice(place.from, place.to)
  const start = block.indexOf(skillMarker(id)) + skillMarker(id).length
  return block
    .slice(start)
    .replace(/^\r?\n/, '')
    .replaceAll(escapedStart, markerStart)
}

/** Returns the ids of attached skills in the order of the prompt; skills in pasted text are found by their markers. */
export function attachedIds(prompt: PromptWithSkills): string[] {
  const recorded = prompt.skills.map(({ id }) => id)
  const marked = prompt.system.matchAll(ownMarker).map(([, id = '']) => id)
  const ids = new Set([...recorded, ...marked.take(maxAttached)])
  const places = [...ids].flatMap(id => {
    const place = placeOf(prompt, id)
    return place ? [{ id, from: place.from }] : []
  })
  return places.sort((one, other) => one.from - other.from).map(({ id }) => id)
}

/** A piece of a prompt; `skill` is the id of the skill whose block it is. */
export interface PromptPiece {
  readonly text: string
  readonly skill: string | undefined
  /** Name of the skill, if the agent has recorded it. */
  readonly name: string | undefined
}

/** Splits a prompt into the blocks of its skills and what is between them. Joined, the pieces are the prompt. */
export function piecesOf(prompt: PromptWithSkills): PromptPiece[] {
  const { system, skills } = prompt
  const pieces: PromptPiece[] = []
  let at = 0
  const upTo = (end: number): void => {
    if (end > at) pieces.push({ text: system.slice(at, end), skill: undefined, name: undefined })
  }
  for (const id of attachedIds(prompt)) {
    const place = placeOf(prompt, id)
    if (!place || place.from < at) continue
    upTo(place.from)
    const name = skills.find(skill => skill.id === id)?.name
    pieces.push({ text: system.slice(place.from, place.to), skill: id, name })
    at = place.to
  }
  upTo(system.length)
  return pieces
}

interface Place {
  readonly from: number
  readonly to: number
  /** The block differs from what was written. */
  readonly isEdited: boolean
}

/**
 * Returns the position of a skill's block: the last exact copy of the recorded block; else from its marker to the next
 * marker or the end.
 */
function placeOf({ system, skills }: PromptWithSkills, id: string): Place | undefined {
  const block = skills.find(skill => skill.id === id)?.block
  const exact = block === undefined ? -1 : system.lastIndexOf(block)
  const to = exact + (block?.length ?? 0)
  // Text that continues the last line belongs to the block, so the block was edited.
  if (exact >= 0 && /^[\r\n]?$/.test(system.slice(to, to + 1))) return { from: exact, to, isEdited: false }
  const marker = skillMarker(id)
  const at = system.lastIndexOf(marker)
  if (at < 0) return undefined
  const next = system.indexOf(markerStart, at + marker.length)
  return { from: beforeBlank(system, at), to: next < 0 ? system.length : beforeBlank(system, next), isEdited: true }
}

/** Includes the blank line before a marker, which belongs to its block. */
const beforeBlank = (system: string, at: number): number =>
  system.startsWith(blankLine, at - blankLine.length) ? at - blankLine.length : at

const replaced = (system: string, { from, to }: Place, by: string): string =>
  system.slice(0, from) + by + system.slice(to)

const without = ({ skills }: PromptWithSkills, id: string): AttachedSkill[] => skills.filter(skill => skill.id !== id)
