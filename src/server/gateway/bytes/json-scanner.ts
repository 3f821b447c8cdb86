import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// Where the values of a JSON text end, without building them. It agrees with JSON.parse on what is valid; bytes above ASCII
// may be anything, as they may for JSON.parse once they have been decoded.

/** The bytes of a JSON value in a body; of a string with its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** In place of an end: the text is no JSON. */
export const broken = -1

/** A JSON text that is being read. */
export interface Text {
  readonly bytes: Buffer
  /** Which of all texts it is. */
  readonly number: number
  /** Strings to look out for: those of each length. */
  readonly words?: Words | undefined
  /** True once one of them was read, as it is, without escapes. */
  hasWord: boolean
  /** Strings, numbers, words and empty brackets that were read as values so far, in all depths. */
  values: number
  /** The most brackets that were open around one of them, as far as `valueEnd` opened them. */
  depth: number
  /** Strings of more than 512 bytes, kept for texts that are long themselves. */
  readonly long?: Span[]
}

export type Words = readonly (readonly Buffer[] | undefined)[]

/** Prepares strings of plain ASCII to look out for. */
export function wordsOf(names: readonly string[]): Words {
  const byLength = Map.groupBy(
    names.map(name => Buffer.from(name)),
    ({ length }) => length,
  )
  return Array.from({ length: Math.max(...byLength.keys()) + 1 }, (_, length) => byLength.get(length))
}

/** Source and reason: `json-strings.wat` beside this file, decision 0008. */
interface Scanner {
  readonly memory: WebAssembly.Memory
  readonly stringEnd: (start: number, end: number) => number
}

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const zero = 0x30
const colon = 0x3a
const backslash = 0x5c
const openArray = 0x5b
const openObject = 0x7b
/** A closing bracket stands two places behind its opening one in ASCII. */
export const toClosing = 2

const codeOf = (character: string): number => character.charCodeAt(0)

const pageBytes = 65_536
/** The table in front of the text. */
const textAt = 256
/** The scanner reads whole steps: what lies behind the text is read, but does not count. */
const stepBytes = 64

const binary = readFileSync(join(import.meta.dirname, 'json-strings.wasm'))
const { memory, stringEnd: scanString } = new WebAssembly.Instance(new WebAssembly.Module(binary)).exports as Scanner
/** Of all that was grown so far: at most the longest body that a route takes. */
let room = new Uint8Array(memory.buffer)
for (const digit of '0123456789abcdefABCDEF') room[codeOf(digit)] = 1
let opened = 0
/** The text whose copy the scanner has. */
let held = 0

/** Takes a text up for reading. */
export const openText = (bytes: Buffer, words?: Words): Text => ({
  bytes,
  number: ++opened,
  words,
  hasWord: false,
  values: 0,
  depth: 0,
  ...(words && bytes.length > longTextBytes && { long: [] }),
})

const longTextBytes = 32 * 1024
const longStringBytes = 512

function hold({ bytes, number }: Text): void {
  const missing = textAt + bytes.length + stepBytes - room.length
  if (missing > 0) {
    memory.grow(Math.ceil(missing / pageBytes))
    room = new Uint8Array(memory.buffer)
  }
  room.set(bytes, textAt)
  held = number
}

/** The place of the next byte at or after `from` that is no white space. */
export function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

/** The place behind the string that begins at `start`. Most of a body is text in strings. */
export function stringEnd(text: Text, start: number): number {
  if (text.bytes[start] !== quote) return broken
  if (text.number !== held) hold(text)
  const found = scanString(textAt + start + 1, textAt + text.bytes.length)
  if (found === broken) return broken
  const end = found - textAt
  if (text.words && !text.hasWord) text.hasWord = isOneOf(text.words, text.bytes, { start: start + 1, end: end - 1 })
  if (text.long && end - start > longStringBytes) text.long.push({ start, end })
  return end
}

/** True when one of the words stands between two places. Without a call-back: this runs for every string of a body. */
function isOneOf(words: Words, bytes: Buffer, { start, end }: Span): boolean {
  const candidates = words[end - start]
  if (!candidates) return false
  for (let at = 0; at < candidates.length; at++) if (isAt(bytes, start, candidates[at])) return true
  return false
}

/** Of `\u0061`, the part that is the rarest in a text: a search stops at each first byte. */
const zeros = Buffer.from('00')
const letterU = 0x75

/** True when a letter may be written as an escape: it may be one of a word that a scan looks out for. */
export function hasEscapedLetter(body: Buffer): boolean {
  for (let at = body.indexOf(zeros); at >= 0; at = body.indexOf(zeros, at + 1)) {
    const digit = body[at + zeros.length] ?? 0
    // Letters have the codes from 41 to 7a; control characters, which must be escaped, have those below 20.
    if (body[at - 1] === letterU && body[at - 2] === backslash && digit >= 0x34 && digit <= 0x37) return true
  }
  return false
}

/** True when the bytes from `start` on begin with `word`. */
export function isAt(bytes: Buffer, start: number, word: Buffer | undefined): boolean {
  if (!word) return false
  let at = 0
  while (at < word.length && bytes[start + at] === word[at]) at++
  return at === word.length
}

/** The place behind the value that begins at `start`. */
export function valueEnd(text: Text, start: number): number {
  const byte = text.bytes[start]
  if (byte === openObject || byte === openArray) return new Walk(text).end(start)
  text.values++
  return tokenEnd(text, start)
}

/** The place where the value begins that belongs to the key which ends at `keyEnd`. */
export function pastColon(bytes: Uint8Array, keyEnd: number): number {
  const at = keyEnd === broken ? broken : skipBlank(bytes, keyEnd)
  return bytes[at] === colon ? skipBlank(bytes, at + 1) : broken
}

const pastKey = (text: Text, start: number): number => pastColon(text.bytes, stringEnd(text, start))

/** Through an object or array. Every step takes a place and returns the next one, or `broken`. */
class Walk {
  readonly #text: Text
  readonly #bytes: Uint8Array
  /** The opening brackets around the current place. Bytes: a body may nest as deep as it is long. */
  #open = new Uint8Array(32)
  #depth = 0
  #deepest = 0

  constructor(text: Text) {
    this.#text = text
    this.#bytes = text.bytes
  }

  end(start: number): number {
    let at = start
    let steps = 0
    do {
      at = this.#toNextValue(this.#pastToken(at))
      steps++
    } while (at !== broken && this.#depth > 0)
    this.#text.values += steps
    if (this.#deepest > this.#text.depth) this.#text.depth = this.#deepest
    return at
  }

  /** From the start of a value to behind the first string, number or word in it, or to the end of an empty bracket. */
  #pastToken(start: number): number {
    let at = start
    let byte = this.#bytes[at]
    while (byte === openObject || byte === openArray) {
      this.#enter(byte)
      at = skipBlank(this.#bytes, at + 1)
      if (this.#bytes[at] === byte + toClosing) return at
      if (byte === openObject) at = pastKey(this.#text, at)
      byte = this.#bytes[at]
    }
    return tokenEnd(this.#text, at)
  }

  /** From behind a token to the start of the next value, or behind the outermost bracket. */
  #toNextValue(end: number): number {
    let at = end
    while (at !== broken && this.#depth > 0) {
      at = skipBlank(this.#bytes, at)
      const byte = this.#bytes[at]
      const bracket = this.#open[this.#depth - 1] ?? 0
      if (byte === comma) {
        at = skipBlank(this.#bytes, at + 1)
        return bracket === openObject ? pastKey(this.#text, at) : at
      }
      if (byte !== bracket + toClosing) return broken
      this.#depth--
      at++
    }
    return at
  }

  #enter(bracket: number): void {
    if (this.#depth === this.#open.length) {
      const longer = new Uint8Array(2 * this.#depth)
      longer.set(this.#open)
      this.#open = longer
    }
    this.#open[this.#depth++] = bracket
    if (this.#depth > this.#deepest) this.#deepest = this.#depth
  }
}

/** The place behind the string, number, `true`, `false` or `null` that begins at `start`. */
function tokenEnd(text: Text, start: number): number {
  const { bytes } = text
  const first = bytes[start] ?? 0
  if (first === quote) return stringEnd(text, start)
  if (first === minus || isDigit(first)) return numberEnd(bytes, start)
  const literal = literals.get(first)
  if (!literal) return broken
  for (let at = 1; at < literal.length; at++) if (bytes[start + at] !== literal[at]) return broken
  return start + literal.length
}

const isDigit = (byte: number): boolean => byte >= zero && byte <= 0x39

/** By their first byte. */
const literals = new Map(['true', 'false', 'null'].map(word => [codeOf(word), Buffer.from(word)]))

function numberEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === minus ? start + 1 : start
  const whole = bytes[first] === zero ? first + 1 : digitsEnd(bytes, first)
  const fraction = whole !== broken && bytes[whole] === codeOf('.') ? digitsEnd(bytes, whole + 1) : whole
  if (fraction === broken || ((bytes[fraction] ?? 0) | 0x20) !== codeOf('e')) return fraction
  const sign = bytes[fraction + 1]
  return digitsEnd(bytes, sign === codeOf('+') || sign === minus ? fraction + 2 : fraction + 1)
}

/** The place behind at least one digit. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start
  while (isDigit(bytes[at] ?? 0)) at++
  return at === start ? broken : at
}
