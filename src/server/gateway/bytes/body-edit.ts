import { addAll } from '../../platform/add-all.ts'
import { type Member, membersAt } from './json-members.ts'
import { openText, type Span, skipBlank, type Text } from './json-scanner.ts'

const openArray = 0x5b

interface Edit {
  /**
   * Dotted paths of members. Arrays have no path segment: `tools.strict` is that field of every tool. Paths that do not
   * exist are ignored.
   */
  readonly remove?: readonly string[]
  /** Top-level members and their new values, which are serialised. New members are put first. */
  readonly set?: Readonly<Record<string, unknown>>
}

interface Edited {
  readonly body: Buffer
  /** Paths of the removed members, with array indices: `tools.0.strict`. */
  readonly removed: readonly string[]
}

export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Changes members of the JSON object in `body`, which must be valid JSON. All other bytes stay unchanged. */
export function editTopLevel(body: Buffer, { remove = [], set = {} }: Edit): Edited {
  const at = skipBlank(body, 0)
  const text = openText(body)
  const members = membersAt(text, at)
  const gone = members.filter(({ key }) => remove.includes(key) && !Object.hasOwn(set, key))
  // A new member must be inserted before a removal at the same offset.
  const splices = [...settings({ members, gone, set, at: at + 1 }), ...removals(members, gone)]
  const removed = gone.map(member => member.key)
  for (const member of members) {
    if (remove.includes(member.key) || Object.hasOwn(set, member.key)) continue
    collect(text, member, { prefix: member.key, paths: pathsBelow(member.key, remove), splices, removed })
  }
  return { body: spliced(body, splices), removed }
}

interface Below {
  /** Path of the value that is searched. */
  readonly prefix: string
  /** Paths relative to `prefix`. */
  readonly paths: readonly string[]
  readonly splices: Splice[]
  readonly removed: string[]
}

/** Finds the members that the paths name inside a value. The recursion is as deep as the operator's paths. */
function collect(text: Text, { valueStart }: Member, { prefix, paths, splices, removed }: Below): void {
  if (paths.length === 0) return
  const members = membersAt(text, valueStart)
  if (text.bytes[valueStart] === openArray) {
    for (const element of members) {
      // Arrays in arrays are skipped, because the sender controls their depth.
      if (text.bytes[element.valueStart] === openArray) continue
      collect(text, element, { prefix: `${prefix}.${element.key}`, paths, splices, removed })
    }
    return
  }
  const gone = members.filter(({ key }) => paths.includes(key))
  addAll(splices, removals(members, gone))
  for (const { key } of gone) removed.push(`${prefix}.${key}`)
  for (const member of members) {
    if (paths.includes(member.key)) continue
    collect(text, member, {
      prefix: `${prefix}.${member.key}`,
      paths: pathsBelow(member.key, paths),
      splices,
      removed,
    })
  }
}

const pathsBelow = (key: string, paths: readonly string[]): readonly string[] =>
  paths.filter(path => path.startsWith(`${key}.`)).map(path => path.slice(key.length + 1))

/** Returns the splices that remove members: each with the comma after it, the last ones with the comma before them. */
export function removals(members: readonly Member[], gone: readonly Member[]): readonly Splice[] {
  if (gone.length === 0) return []
  const removed = new Set(gone)
  const lastRetained = members.findLastIndex(member => !removed.has(member))
  return members.flatMap((member, index) => {
    if (!removed.has(member)) return []
    const before = members[index - 1]
    if (index > lastRetained) return { start: before?.end ?? member.start, end: member.end, text: '' }
    return { start: member.start, end: members[index + 1]?.start ?? member.end, text: '' }
  })
}

interface Setting {
  readonly members: readonly Member[]
  readonly gone: readonly Member[]
  readonly set: Readonly<Record<string, unknown>>
  /** Offset after the opening bracket. */
  readonly at: number
}

function settings({ members, gone, set, at }: Setting): readonly Splice[] {
  const present = members.filter(({ key }) => Object.hasOwn(set, key))
  const replaced = present.map(({ key, valueStart, end }) => ({
    start: valueStart,
    end,
    text: JSON.stringify(set[key]),
  }))
  const added = Object.keys(set).filter(key => !present.some(member => member.key === key))
  if (added.length === 0) return replaced
  const text = added.map(key => `${JSON.stringify(key)}:${JSON.stringify(set[key])}`).join(',')
  const isAlone = members.length === gone.length
  return [{ start: at, end: at, text: isAlone ? text : `${text},` }, ...replaced]
}

export function spliced(body: Buffer, splices: readonly Splice[]): Buffer {
  if (splices.length === 0) return body
  const parts: Buffer[] = []
  let at = 0
  for (const { start, end, text } of splices.toSorted((a, b) => a.start - b.start)) {
    parts.push(body.subarray(at, start), Buffer.from(text))
    at = end
  }
  parts.push(body.subarray(at))
  return Buffer.concat(parts)
}

/** Bytes that are sent one after the other. */
export type Parts = Buffer | readonly Buffer[]

/** Bytes from which a copy costs more than a second write. */
const worthParts = 32 * 1024

/** Replaces the string at `span`; every other byte stays. Most of a long body is not copied. */
export function spliceString(body: Buffer, { start, end }: Span, text: string): Parts {
  const literal = JSON.stringify(text)
  if (body.length < worthParts) return rebuilt(body, { start, end }, literal)
  const before = body.subarray(0, start)
  const string = Buffer.from(literal)
  const after = body.subarray(end)
  return before.length < after.length
    ? [Buffer.concat([before, string]), after]
    : [before, Buffer.concat([string, after])]
}

function rebuilt(body: Buffer, { start, end }: Span, literal: string): Buffer {
  const bytes = Buffer.byteLength(literal)
  const whole = Buffer.allocUnsafe(start + bytes + body.length - end)
  body.copy(whole, 0, 0, start)
  whole.write(literal, start)
  body.copy(whole, start + bytes, end)
  return whole
}

export const joined = (parts: Parts): Buffer => (Buffer.isBuffer(parts) ? parts : Buffer.concat(parts))

export const lengthOf = (parts: Parts): number =>
  Buffer.isBuffer(parts) ? parts.length : parts.reduce((sum, { length }) => sum + length, 0)
