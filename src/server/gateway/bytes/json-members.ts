import {
  escapedLetter,
  isAt,
  malformed,
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

/** Member of an object, or element of an array, in a JSON text. Positions are byte offsets. */
export interface Member {
  /** The key with escapes resolved; the index for an element. */
  readonly key: string
  /** Start of the key; for an element the same as `valueStart`. */
  readonly start: number
  readonly valueStart: number
  /** End of the value, before commas and white space. */
  readonly end: number
}

/** Requested top-level members of a JSON object, and what the scan of the object found. */
export interface OwnMembers {
  /** The text that the offsets refer to. */
  readonly body: Buffer
  /** Span of each key's value, in the order of the keys; the last value of a duplicate key. */
  readonly values: readonly (Span | undefined)[]
  /** Keys that occur more than once. Parsers disagree on which one counts. */
  readonly duplicates: readonly string[]
  /** The requested keys. */
  readonly names: readonly string[]
  /** Bits of the watched words that occur anywhere, written without escapes. */
  readonly foundWords: number
  /** True when a letter is written as an escape: it may belong to one of the words. */
  readonly hasEscapedLetter: boolean
  /** Number of values: strings, numbers, literals and empty brackets. Other brackets do not count. */
  readonly count: number
  /** Maximum number of brackets around a value, without those of the object itself. */
  readonly depth: number
  /** Strings of more than 512 bytes in a long body. */
  readonly long?: readonly Span[] | undefined
}

/** Keys to search for, prepared once. */
export interface Keys {
  /** Plain ASCII. */
  readonly names: readonly string[]
  readonly bytes: readonly Buffer[]
  /** Maximum bytes of a key in the text: each character as an escape of six bytes. */
  readonly maxBytes: number
}

const comma = 0x2c
const backslash = 0x5c
const openArray = 0x5b
const openObject = 0x7b

/** Prepares keys for a search. */
export const keysOf = (names: readonly string[]): Keys => ({
  names,
  bytes: names.map(name => Buffer.from(name)),
  maxBytes: 6 * Math.max(...names.map(({ length }) => length)),
})

/**
 * Finds members of the JSON object in `body` without parsing values. Every byte is validated; for a long body that
 * costs a tenth of JSON.parse and creates no garbage. Returns undefined for anything that JSON.parse rejects or that is
 * not an object.
 */
export function ownMembers(body: Buffer, keys: Keys, words?: Words): OwnMembers | undefined {
  const start = skipBlank(body, 0)
  if (body[start] !== openObject) return undefined
  const values: (Span | undefined)[] = keys.names.map(() => undefined)
  const duplicates: string[] = []
  const text = openText(body, words)
  const end = walk(text, start, (keyStart, keyEnd, value) => {
    const key = keyAt(body, { start: keyStart, end: keyEnd }, keys)
    if (key < 0) return
    if (values[key]) duplicates.push(keys.names[key] ?? '')
    values[key] = value
  })
  if (end === malformed || skipBlank(body, end) !== body.length) return undefined
  const { foundWords, long, depth } = text
  const hasEscapedLetter = (foundWords & escapedLetter) !== 0
  return { body, values, duplicates, names: keys.names, foundWords, hasEscapedLetter, count: text.values, depth, long }
}

/** Returns the members of the object or array that starts at `at` in a valid JSON text; empty for any other value. */
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

/** Parses the value at a span; objects and arrays deeper than `depth` levels are empty. */
export function outlineAt(text: Text, { start, end }: Span, depth: number): unknown {
  const first = text.bytes[start]
  if (first !== openArray && first !== openObject) return JSON.parse(text.bytes.toString('utf8', start, end))
  const inside = depth === 0 ? [] : membersAt(text, start)
  const values = inside.map(member => outlineAt(text, { start: member.valueStart, end: member.end }, depth - 1))
  return first === openArray ? values : Object.fromEntries(values.map((value, at) => [inside[at]?.key, value]))
}

type Visit = (start: number, keyEnd: number, value: Span) => void

/**
 * Visits each member of the object or array that opens at `open`. Returns the offset after its closing bracket, or
 * `malformed`.
 */
function walk(text: Text, open: number, visit: Visit): number {
  const { bytes } = text
  const bracket = bytes[open] ?? 0
  const closing = bracket + toClosing
  let at = skipBlank(bytes, open + 1)
  if (bytes[at] === closing) return at + 1
  for (;;) {
    const keyEnd = bracket === openObject ? stringEnd(text, at) : at
    const start = bracket === openObject ? pastColon(bytes, keyEnd) : at
    const end = start === malformed ? malformed : valueEnd(text, start)
    if (end === malformed) return malformed
    visit(at, keyEnd, { start, end })
    const next = skipBlank(bytes, end)
    if (bytes[next] === closing) return next + 1
    if (bytes[next] !== comma) return malformed
    at = skipBlank(bytes, next + 1)
  }
}

/** Returns the index of the key that a quoted string equals after its escapes are resolved; -1 for another string. */
function keyAt(body: Buffer, { start, end }: Span, { names, bytes, maxBytes }: Keys): number {
  const length = end - start - 2
  // No callback or iterator here: this runs for every member of every body.
  for (let at = 0; at < bytes.length; at++)
    if (bytes[at]?.length === length && isAt(body, start + 1, bytes[at])) return at
  if (length > maxBytes || !body.subarray(start, end).includes(backslash)) return -1
  return names.indexOf(stringAt(body, { start, end }))
}

const stringAt = (body: Buffer, { start, end }: Span): string => JSON.parse(body.toString('utf8', start, end)) as string
