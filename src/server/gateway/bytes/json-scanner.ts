import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// Finds where the values of a JSON text end, without parsing them. It accepts exactly what JSON.parse accepts. Bytes
// above
// ASCII are not checked, because decoding replaces invalid ones before JSON.parse sees them.

/** Byte range of a JSON value in a body; a string includes its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Returned instead of an end: the text is not JSON. */
export const malformed = -1

/** JSON text that is being scanned. */
export interface Text {
  readonly bytes: Buffer
  /** Identifies the text among all texts. */
  readonly number: number
  /** Strings to watch for. */
  readonly words?: Words | undefined
  /** Bits of the words found so far, written without escapes. */
  foundWords: number
  /** Number of strings, numbers, literals and empty brackets that were read as values, at all depths. */
  values: number
  /** Maximum number of brackets around one of them, counted from where `valueEnd` started. */
  depth: number
  /** Strings of more than 512 bytes; present for texts of more than 32 KiB. */
  readonly long?: Span[]
}

/** Strings to watch for, in the scanner's format. */
export interface Words {
  readonly count: number
  readonly table: Uint8Array
}

interface Word {
  /** Plain ASCII, at most 32 characters. Only the first 16 characters and the length are compared. */
  readonly text: string
  /** Set in `foundWords` when the word is found; below bit 30. */
  readonly bit: number
  /** True: ignored as the key of a member. */
  readonly isValue?: true
}

const wordBytes = 48
const maxWords = 32
const maxWordLength = 32
const comparedLength = 16

/** Prepares strings to watch for. */
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

/** WebAssembly module. Source and memory layout: `json-scanner.wat` in this folder. Reason: decision 0008. */
interface Scanner {
  readonly memory: WebAssembly.Memory
  readonly open: (wordCount: number, bracketsAt: number, longAt: number) => void
  readonly stringEnd: (at: number, end: number) => number
  readonly valueEnd: (at: number, end: number) => number
}

/** Distance in ASCII from an opening bracket to its closing one. */
export const toClosing = 2
const colon = 0x3a

const pageBytes = 65_536
const countsAt = 256
const wordsAt = 512
const textAt = 2_048
/** Bytes after the text that the scanner may read, because it reads whole steps; they are ignored. */
const stepBytes = 64

const binary = readFileSync(join(import.meta.dirname, 'json-scanner.wasm'))
const scanner = new WebAssembly.Instance(new WebAssembly.Module(binary)).exports as Scanner
/** View of the whole memory, which never shrinks: at most 9/8 of the longest body that a route accepts. */
let room = new Uint8Array(scanner.memory.buffer)
/** Values, maximum depth, found words and long strings since the last reset. */
let counts = new Int32Array(scanner.memory.buffer, countsAt, 4)
for (const digit of '0123456789abcdefABCDEF') room[digit.charCodeAt(0)] = 1
/** Texts opened so far. The scanner is module state: its memory is scratch space that no call retains. */
let opened = 0
/** Number of the text in the scanner's memory, and the words that it watches for. */
let loadedNumber = 0
let loadedWords: Words | undefined

/** Prepares a text for scanning. */
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

/** Copies a text into the scanner's memory. */
function load({ bytes, number, words, long }: Text): void {
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
  if (words && words !== loadedWords) {
    room.set(words.table, wordsAt)
    loadedWords = words
  }
  scanner.open(words?.count ?? 0, bracketsAt, long ? longAt : 0)
  loadedNumber = number
}

/** Returns the offset of the first byte at or after `from` that is not white space. */
export function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

/** Returns the offset after the string that starts at `start`. For watched words the string counts as a key. */
export function stringEnd(text: Text, start: number): number {
  if (start < 0 || start >= text.bytes.length) return malformed
  if (text.number !== loadedNumber) load(text)
  return withCounts(text, scanner.stringEnd(textAt + start, textAt + text.bytes.length))
}

/** Returns the offset after the value that starts at `start`. */
export function valueEnd(text: Text, start: number): number {
  if (start >= text.bytes.length) return malformed
  if (text.number !== loadedNumber) load(text)
  return withCounts(text, scanner.valueEnd(textAt + start, textAt + text.bytes.length))
}

/** Adds the scanner's counts to the text and resets them. Returns `end` as an offset in the text. */
function withCounts(text: Text, end: number): number {
  const [values = 0, depth = 0, words = 0, long = 0] = counts
  text.values += values
  if (depth > text.depth) text.depth = depth
  text.foundWords |= words
  if (long > 0) addLongStrings(text, long)
  counts.fill(0)
  return end === malformed ? malformed : end - textAt
}

function addLongStrings({ long, bytes }: Text, count: number): void {
  const bracketsAt = (textAt + bytes.length + stepBytes) & ~7
  const places = new Int32Array(scanner.memory.buffer, (bracketsAt + (bytes.length >> 3) + 16) & ~7, 2 * count)
  for (let at = 0; at < places.length; at += 2)
    long?.push({ start: (places[at] ?? 0) - textAt, end: (places[at + 1] ?? 0) - textAt })
}

/** Bit of `foundWords`: a letter is written as an escape and may belong to a watched word. */
export const escapedLetter = 1 << 30

/** Reports whether `word` is at `start`. */
export function isAt(bytes: Buffer, start: number, word: Buffer | undefined): boolean {
  if (!word) return false
  let at = 0
  while (at < word.length && bytes[start + at] === word[at]) at++
  return at === word.length
}

/** Returns the start of the value whose key ends at `keyEnd`, or `malformed`. */
export function pastColon(bytes: Uint8Array, keyEnd: number): number {
  const at = keyEnd === malformed ? malformed : skipBlank(bytes, keyEnd)
  return bytes[at] === colon ? skipBlank(bytes, at + 1) : malformed
}
