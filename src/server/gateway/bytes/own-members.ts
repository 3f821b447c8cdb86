import { broken, openText, scalarEnd, stringEnd, type Text } from './json-tokens.ts'
import { type Span, skipBlank } from './splice.ts'

/** The own members of a JSON object, as far as they were asked for. */
export interface OwnMembers {
  /** Where the value of each key stands, in the order of the keys; the last one of a key that occurs twice. */
  readonly values: readonly (Span | undefined)[]
  /** The keys that occur more than once. Parsers disagree on which one counts. */
  readonly doubled: readonly string[]
}

/** What to look for in an object, made once. */
interface Keys {
  /** Plain ASCII. */
  readonly names: readonly string[]
  readonly bytes: readonly Buffer[]
  /** The longest spelling of any: each character as an escape of six bytes. */
  readonly maxBytes: number
}

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
export const ownMembers = (body: Buffer, keys: Keys): OwnMembers | undefined => new Walk(body, keys).run()

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const openArray = 0x5b
const openObject = 0x7b
/** A closing bracket stands two places behind its opening one in ASCII. */
const toClosing = 2

/** One pass over a body. Every step takes a place and returns the next one, or `broken`. */
class Walk {
  readonly #bytes: Buffer
  readonly #text: Text
  readonly #keys: Keys
  readonly #values: (Span | undefined)[]
  /** The opening brackets around the current place. Bytes: a body may nest as deep as it is long. */
  #open = new Uint8Array(32)
  #depth = 0
  readonly #doubled: string[] = []
  /** Which of the keys the outermost object's current member has, and where its value starts. */
  #key = -1
  #start = 0

  constructor(body: Buffer, keys: Keys) {
    this.#bytes = body
    this.#text = openText(body)
    this.#keys = keys
    this.#values = keys.names.map(() => undefined)
  }

  run(): OwnMembers | undefined {
    let at = skipBlank(this.#bytes, 0)
    if (this.#bytes[at] !== openObject) return undefined
    do at = this.#toNextValue(this.#pastToken(at))
    while (at !== broken && this.#depth > 0)
    const isWhole = at !== broken && skipBlank(this.#bytes, at) === this.#bytes.length
    return isWhole ? { values: this.#values, doubled: this.#doubled } : undefined
  }

  /** From the start of a value to behind the first string, number or word in it, or to the end of an empty bracket. */
  #pastToken(start: number): number {
    let at = start
    let byte = this.#bytes[at]
    while (byte === openObject || byte === openArray) {
      this.#enter(byte)
      at = skipBlank(this.#bytes, at + 1)
      if (this.#bytes[at] === byte + toClosing) return at
      if (byte === openObject) at = this.#pastKey(at)
      byte = this.#bytes[at]
    }
    return byte === quote ? stringEnd(this.#text, at) : scalarEnd(this.#text, at)
  }

  /** From behind a token to the start of the next value, or behind the outermost bracket. */
  #toNextValue(end: number): number {
    if (end === broken) return broken
    let at = end
    while (this.#depth > 0) {
      if (this.#depth === 1) this.#note(at)
      at = skipBlank(this.#bytes, at)
      const byte = this.#bytes[at]
      const isObject = this.#open[this.#depth - 1] === openObject
      if (byte === comma) {
        at = skipBlank(this.#bytes, at + 1)
        return isObject ? this.#pastKey(at) : at
      }
      if (byte !== (isObject ? openObject : openArray) + toClosing) return broken
      this.#depth--
      at++
    }
    return at
  }

  #pastKey(at: number): number {
    if (this.#bytes[at] !== quote) return broken
    const end = stringEnd(this.#text, at)
    if (end === broken) return broken
    const behind = skipBlank(this.#bytes, end)
    if (this.#bytes[behind] !== colon) return broken
    const value = skipBlank(this.#bytes, behind + 1)
    if (this.#depth === 1) {
      this.#key = this.#keyAt(at + 1, end - 1)
      this.#start = value
    }
    return value
  }

  #enter(bracket: number): void {
    if (this.#depth === this.#open.length) {
      const longer = new Uint8Array(2 * this.#depth)
      longer.set(this.#open)
      this.#open = longer
    }
    this.#open[this.#depth++] = bracket
  }

  /** A member of the outermost object ends at `end`. */
  #note(end: number): void {
    const key = this.#key
    if (key < 0) return
    if (this.#values[key]) this.#doubled.push(this.#keys.names[key] ?? '')
    this.#values[key] = { start: this.#start, end }
    this.#key = -1
  }

  /** Which key the string between two quotes is, escapes resolved; -1 for any other. */
  #keyAt(start: number, end: number): number {
    const { names, bytes, maxBytes } = this.#keys
    const length = end - start
    // Without a call-back or an iterator: this runs for every member of every body.
    for (let at = 0; at < bytes.length; at++) if (isKeyAt(this.#bytes, start, length, bytes[at])) return at
    if (length > maxBytes || !this.#hasEscape(start, end)) return -1
    return names.indexOf(JSON.parse(this.#bytes.toString('utf8', start - 1, end + 1)))
  }

  #hasEscape(start: number, end: number): boolean {
    for (let at = start; at < end; at++) if (this.#bytes[at] === backslash) return true
    return false
  }
}

function isKeyAt(text: Buffer, start: number, length: number, key: Buffer | undefined): boolean {
  if (key?.length !== length) return false
  let at = 0
  while (at < length && text[start + at] === key[at]) at++
  return at === length
}
