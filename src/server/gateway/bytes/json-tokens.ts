import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// Where the tokens of a JSON text end. They agree with JSON.parse on what is valid; bytes above ASCII may be anything, as
// they may for JSON.parse once they have been decoded.

/** In place of an end: the text is no JSON. */
export const broken = -1

/** A JSON text that is being read; good until the next one is opened. */
export interface Text {
  readonly bytes: Uint8Array
  /** Where its copy in the memory of the scanner ends. */
  readonly copyEnd: number
}

/** Source and reason: `json-strings.wat` beside this file, decision 0008. */
interface Scanner {
  readonly memory: WebAssembly.Memory
  readonly stringEnd: (start: number, end: number) => number
}

const minus = 0x2d
const zero = 0x30

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

/** Takes a text up for reading. */
export function openText(bytes: Uint8Array): Text {
  const copyEnd = textAt + bytes.length
  const missing = copyEnd + stepBytes - room.length
  if (missing > 0) {
    memory.grow(Math.ceil(missing / pageBytes))
    room = new Uint8Array(memory.buffer)
  }
  room.set(bytes, textAt)
  return { bytes, copyEnd }
}

/** The place behind the string whose opening quote stands at `start`. Most of a body is text in strings. */
export function stringEnd({ copyEnd }: Text, start: number): number {
  const end = scanString(textAt + start + 1, copyEnd)
  return end === broken ? broken : end - textAt
}

const isDigit = (byte: number): boolean => byte >= zero && byte <= 0x39

/** By their first byte. */
const literals = new Map(['true', 'false', 'null'].map(word => [codeOf(word), Buffer.from(word)]))

/** The place behind the number, `true`, `false` or `null` that stands at `start`. */
export function scalarEnd({ bytes }: Text, start: number): number {
  const first = bytes[start] ?? 0
  if (first === minus || isDigit(first)) return numberEnd(bytes, start)
  const literal = literals.get(first)
  if (!literal) return broken
  for (let at = 1; at < literal.length; at++) if (bytes[start + at] !== literal[at]) return broken
  return start + literal.length
}

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
