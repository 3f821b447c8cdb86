import {
  broken,
  escapedLetter,
  isAt,
  openText,
  pastColon,
  type Span,
  skipBlank,
  stringEnd,
  type Text,
  toClosing,
  valueEnd,
  type Words,
} from './json-scanner.ts'

/** A member of an object, or an element of an array, as it stands in a JSON text. */
export interface Member {
  /** Escapes resolved; the index for an element. */
  readonly key: string
  /** Where the key begins; for an element the same as `valueStart`. */
  readonly start: number
  readonly valueStart: number
  /** Behind the value; commas and white space follow. */
  readonly end: number
}

/** The own members of a JSON object, as far as they were asked for. */
export interface OwnMembers {
  /** The text that they are members of: places in another one say nothing. */
  readonly body: Buffer
  /** Where the value of each key stands, in the order of the keys; the last one of a key that occurs twice. */
  readonly values: readonly (Span | undefined)[]
  /** The keys that occur more than once. Parsers disagree on which one counts. */
  readonly doubled: readonly string[]
  /** The keys. */
  readonly names: readonly string[]
  /** The bits of the words that were looked out for and stand anywhere, without escapes. */
  readonly foundWords: number
  /** True when a letter is written as an escape: it may belong to one of the words. */
  readonly hasEscapedLetter: boolean
  /** How many values the object holds: strings, numbers and words, and empty brackets. Brackets around them do not count. */
  readonly count: number
  /** How many brackets stand around a value at most, without those of the object itself. */
  readonly depth: number
  /** The strings of more than 512 bytes in a long body. */
  readonly long?: readonly Span[] | undefined
}

/** What to look for in an object, made once. */
interface Keys {
  /** Plain ASCII. */
  readonly names: readonly string[]
  readonly bytes: readonly Buffer[]
  /** The longest spelling of any: each character as an escape of six bytes. */
  readonly maxBytes: number
}

const comma = 0x2c
const backslash = 0x5c
const openArray = 0x5b
const openObject = 0x7b

/** Prepares the names of members for a search. */
export const keysOf = (names: readonly string[]): Keys => ({
  names,
  bytes: names.map(name => Buffer.from(name)),
  maxBytes: 6 * Math.max(...names.map(({ length }) => length)),
})

/**
 * Finds members of the JSON object in `body` without building it. Every byte is checked; for a long body that costs a
 * tenth of what JSON.parse does, and it leaves nothing for the collector. Undefined for anything that JSON.parse would not
 * take, or that is no object.
 */
export function ownMembers(body: Buffer, keys: Keys, words?: Words): OwnMembers | undefined {
  const start = skipBlank(body, 0)
  if (body[start] !== openObject) return undefined
  const values: (Span | undefined)[] = keys.names.map(() => undefined)
  const doubled: string[] = []
  const text = openText(body, words)
  const end = walk(text, start, (keyStart, keyEnd, value) => {
    const key = keyAt(body, { start: keyStart, end: keyEnd }, keys)
    if (key < 0) return
    if (values[key]) doubled.push(keys.names[key] ?? '')
    values[key] = value
  })
  if (end === broken || skipBlank(body, end) !== body.length) return undefined
  const { foundWords, long, depth } = text
  const hasEscapedLetter = (foundWords & escapedLetter) !== 0
  return { body, values, doubled, names: keys.names, foundWords, hasEscapedLetter, count: text.values, depth, long }
}

/** The members of the object or array that begins at `at` in a valid JSON text; none for any other value. */
export function membersAt(text: Text, at: number): readonly Member[] {
  const { bytes } = text
  const isArray = bytes[at] === openArray
  if (!isArray && bytes[at] !== openObject) return []
  const members: Member[] = []
  walk(text, at, (start, keyEnd, value) => {
    const key = isArray ? String(members.length) : stringAt(bytes, { start, end: keyEnd })
    members.push({ key, start, valueStart: value.start, end: value.end })
  })
  return members
}

/** The value at a place; of objects and arrays deeper than `depth` levels nothing but that they are there. */
export function outlineAt(text: Text, { start, end }: Span, depth: number): unknown {
  const first = text.bytes[start]
  if (first !== openArray && first !== openObject) return JSON.parse(text.bytes.toString('utf8', start, end))
  const inside = depth === 0 ? [] : membersAt(text, start)
  const values = inside.map(member => outlineAt(text, { start: member.valueStart, end: member.end }, depth - 1))
  return first === openArray ? values : Object.fromEntries(values.map((value, at) => [inside[at]?.key, value]))
}

type Visit = (start: number, keyEnd: number, value: Span) => void

/** Visits each member of the object or array that opens at `open`; the place behind its closing bracket, or `broken`. */
function walk(text: Text, open: number, visit: Visit): number {
  const { bytes } = text
  const bracket = bytes[open] ?? 0
  const closing = bracket + toClosing
  let at = skipBlank(bytes, open + 1)
  if (bytes[at] === closing) return at + 1
  for (;;) {
    const keyEnd = bracket === openObject ? stringEnd(text, at) : at
    const start = bracket === openObject ? pastColon(bytes, keyEnd) : at
    const end = start === broken ? broken : valueEnd(text, start)
    if (end === broken) return broken
    visit(at, keyEnd, { start, end })
    const next = skipBlank(bytes, end)
    if (bytes[next] === closing) return next + 1
    if (bytes[next] !== comma) return broken
    at = skipBlank(bytes, next + 1)
  }
}

/** Which of the keys a string with its quotes is, escapes resolved; -1 for any other. */
function keyAt(body: Buffer, { start, end }: Span, { names, bytes, maxBytes }: Keys): number {
  const length = end - start - 2
  // Without a call-back or an iterator: this runs for every member of every body.
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at]?.length === length && isAt(body, start + 1, bytes[at])) return at
  if (length > maxBytes || !body.subarray(start, end).includes(backslash)) return -1
  return names.indexOf(stringAt(body, { start, end }))
}

const stringAt = (body: Buffer, { start, end }: Span): string => JSON.parse(body.toString('utf8', start, end)) as string
