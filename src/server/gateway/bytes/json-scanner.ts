import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// Where the values of a JSON text end, without building them. It agrees with JSON.parse on what is valid; bytes above ASCII
// may be anything, as they may for JSON.parse once they have been decoded.

/** The bytes of a JSON value in a body; of a string with its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** In place of an end: the text is not JSON. */
export const broken = -1

/** A JSON text that is being read. */
export interface Text {
  readonly bytes: Buffer
  /** Which of all texts it is. */
  readonly number: number
  /** Strings to look out for. */
  readonly words?: Words | undefined
  /** The bits of the words that were read, as they are, without escapes. */
  foundWords: number
  /** Strings, numbers, words and empty brackets that were read as values so far, in all depths. */
  values: number
  /** The most brackets that were open around one of them, as far as `valueEnd` opened them. */
  depth: number
  /** Strings of more than 512 bytes, kept for texts that are long themselves. */
  readonly long?: Span[]
}

/** Strings to look out for, as the scanner takes them. */
export interface Words {
  readonly count: number
  readonly table: Uint8Array
}

interface Word {
  /** Plain ASCII, at most 32 characters; of a longer one than 16 only those and its length are compared. */
  readonly text: string
  /** What is set in `foundWords` once the word was read; below bit 30. */
  readonly bit: number
  /** True: as the key of a member it does not count. */
  readonly isValue?: true
}

const wordBytes = 48
const maxWords = 32
const maxWordLength = 32
const comparedLength = 16

/** Prepares strings to look out for. */
export function wordsOf(words: readonly Word[]): Words {
  if (words.length > maxWords) throw new Error(`more than ${maxWords} words`)
  const table = Buffer.alloc(words.length * wordBytes)
  for (const [index, { text, bit, isValue }] of words.entries()) {
    if (text.length > maxWordLength) throw new Error(`${text} is longer than ${maxWordLength} characters`)
    const at = index * wordBytes
    const compared = text.slice(0, comparedLength)
    table.write(compared, at, 'latin1')
    table.fill(0xff, at + comparedLength, at + comparedLength + compared.length)
    table.writeUInt32LE(text.length, at + 32)
    table.writeUInt32LE(bit, at + 36)
    table.writeUInt32LE(isValue ? 1 : 0, at + 40)
  }
  return { count: words.length, table }
}

/** Source, memory and reason: `json-scanner.wat` beside this file, decision 0008. */
interface Scanner {
  readonly memory: WebAssembly.Memory
  readonly open: (wordCount: number, bracketsAt: number, longAt: number) => void
  readonly stringEnd: (at: number, end: number) => number
  readonly valueEnd: (at: number, end: number) => number
}

/** A closing bracket stands two places behind its opening one in ASCII. */
export const toClosing = 2
const colon = 0x3a

const pageBytes = 65_536
const countsAt = 256
const wordsAt = 512
const textAt = 2_048
/** The scanner reads whole steps: what lies behind the text is read, but does not count. */
const stepBytes = 64

const binary = readFileSync(join(import.meta.dirname, 'json-scanner.wasm'))
const scanner = new WebAssembly.Instance(new WebAssembly.Module(binary)).exports as Scanner
/** Of all that was grown so far: at most the longest body that a route takes, and an eighth of it. */
let room = new Uint8Array(scanner.memory.buffer)
/** Values, deepest level, words found, long strings: since they were last taken. */
let counts = new Int32Array(scanner.memory.buffer, countsAt, 4)
for (const digit of '0123456789abcdefABCDEF') room[digit.charCodeAt(0)] = 1
let opened = 0
/** The text whose copy the scanner has, and the words that it looks out for. */
let held = 0
let heldWords: Words | undefined

/** Prepares a text for reading. */
export const openText = (bytes: Buffer, words?: Words): Text => ({
  bytes,
  number: ++opened,
  words,
  foundWords: 0,
  values: 0,
  depth: 0,
  ...(words && bytes.length > longTextBytes && { long: [] }),
})

const longTextBytes = 32 * 1024
const longStringBytes = 512

function hold({ bytes, number, words, long }: Text): void {
  const bracketsAt = (textAt + bytes.length + stepBytes) & ~7
  const longAt = (bracketsAt + (bytes.length >> 3) + 16) & ~7
  const end = longAt + (long ? 8 * (Math.ceil(bytes.length / longStringBytes) + 1) : 0)
  if (end > room.length) {
    scanner.memory.grow(Math.ceil((end - room.length) / pageBytes))
    room = new Uint8Array(scanner.memory.buffer)
    counts = new Int32Array(scanner.memory.buffer, countsAt, 4)
  }
  room.set(bytes, textAt)
  room[textAt + bytes.length] = 0
  if (words && words !== heldWords) {
    room.set(words.table, wordsAt)
    heldWords = words
  }
  scanner.open(words?.count ?? 0, bracketsAt, long ? longAt : 0)
  held = number
}

/** The place of the next byte at or after `from` that is not white space. */
export function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

/** The place behind the string that begins at `start`; with words to look out for, it is a key. */
export function stringEnd(text: Text, start: number): number {
  if (start < 0 || start >= text.bytes.length) return broken
  if (text.number !== held) hold(text)
  return taken(text, scanner.stringEnd(textAt + start, textAt + text.bytes.length))
}

/** The place behind the value that begins at `start`. */
export function valueEnd(text: Text, start: number): number {
  if (start >= text.bytes.length) return broken
  if (text.number !== held) hold(text)
  return taken(text, scanner.valueEnd(textAt + start, textAt + text.bytes.length))
}

/** Takes over what the scanner has counted. */
function taken(text: Text, end: number): number {
  const [values = 0, depth = 0, words = 0, long = 0] = counts
  text.values += values
  if (depth > text.depth) text.depth = depth
  text.foundWords |= words
  if (long > 0) takeLong(text, long)
  counts.fill(0)
  return end === broken ? broken : end - textAt
}

function takeLong({ long, bytes }: Text, count: number): void {
  const bracketsAt = (textAt + bytes.length + stepBytes) & ~7
  const places = new Int32Array(scanner.memory.buffer, (bracketsAt + (bytes.length >> 3) + 16) & ~7, 2 * count)
  for (let at = 0; at < places.length; at += 2)
    long?.push({ start: (places[at] ?? 0) - textAt, end: (places[at + 1] ?? 0) - textAt })
}

/** In `foundWords`: a letter is written as an escape, and may belong to a word that was looked out for. */
export const escapedLetter = 1 << 30

/** True when the bytes from `start` on begin with `word`. */
export function isAt(bytes: Buffer, start: number, word: Buffer | undefined): boolean {
  if (!word) return false
  let at = 0
  while (at < word.length && bytes[start + at] === word[at]) at++
  return at === word.length
}

/** The place where the value begins that belongs to the key which ends at `keyEnd`. */
export function pastColon(bytes: Uint8Array, keyEnd: number): number {
  const at = keyEnd === broken ? broken : skipBlank(bytes, keyEnd)
  return bytes[at] === colon ? skipBlank(bytes, at + 1) : broken
}
