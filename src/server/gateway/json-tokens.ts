// Where the tokens of a JSON text end. They agree with JSON.parse on what is valid; bytes above ASCII may be anything, as
// they may for JSON.parse once they have been decoded.

/** In place of an end: the text is no JSON. */
export const broken = -1

/** A JSON text as bytes, and the same bytes to be read four at a time. */
export interface Text {
  readonly bytes: Uint8Array
  readonly words: DataView
}

const quote = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30

const codeOf = (character: string): number => character.charCodeAt(0)

/** How many bytes an escape takes, by the byte behind its backslash; 0 for none. */
const escapeLength = new Uint8Array(256)
for (const character of '"\\/bfnrt') escapeLength[codeOf(character)] = 2
escapeLength[codeOf('u')] = 6

/** 1 for each byte that is a hexadecimal digit. */
const hex = new Uint8Array(256)
for (const character of '0123456789abcdefABCDEF') hex[codeOf(character)] = 1

/** The highest bit of each byte of a word. */
const highBits = 0x80808080 | 0

/**
 * The place behind the string whose opening quote stands at `start`. Most of a body is text in strings, so it is read
 * four bytes a step. Handing `at` to another function in this loop would make it twice as slow.
 */
export function stringEnd({ bytes, words }: Text, start: number): number {
  const last = bytes.length - 4
  let at = start + 1
  while (at <= last) {
    const word = words.getInt32(at, true)
    const found = specials(word) & highBits
    if (found === 0) {
      at += 4
      continue
    }
    const shift = (31 - Math.clz32(found & -found)) & 24
    at += shift >> 3
    const byte = (word >>> shift) & 0xff
    if (byte === quote) return at + 1
    if (byte !== backslash) return broken
    const length = escapeLength[bytes[at + 1] ?? 0] ?? 0
    if (length === 0 || (length === 6 && (at > last - 2 || !isHex(words.getInt32(at + 2, true))))) return broken
    at += length
  }
  return shortStringEnd(bytes, at)
}

/**
 * Marks the bytes of `word` that are a quote, a backslash or a control character by their highest bits. The lowest mark
 * is right, those above it may be wrong; other bits mean nothing. It is the usual test for a byte below n,
 * `(x - n) & ~x & 0x80`, made twice: with the bytes changed so that quotes stand right behind the control characters,
 * and so that backslashes are zero.
 */
function specials(word: number): number {
  const low = word ^ 0x02020202
  const zeros = word ^ 0x5c5c5c5c
  return ((low - 0x21212121) & ~low) | ((zeros - 0x01010101) & ~zeros)
}

/** True when all four bytes of `word` are hexadecimal digits. */
const isHex = (word: number): boolean =>
  ((hex[word & 0xff] ?? 0) &
    (hex[(word >>> 8) & 0xff] ?? 0) &
    (hex[(word >>> 16) & 0xff] ?? 0) &
    (hex[word >>> 24] ?? 0)) ===
  1

/** The last few bytes of a text, which are no whole word: no escape of six bytes and its quote fit in. */
function shortStringEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0
    if (byte === quote) return at + 1
    const length = byte === backslash ? escapeLength[bytes[at + 1] ?? 0] : 1
    if (byte < 0x20 || (length !== 1 && length !== 2)) return broken
    at += length
  }
  return broken
}

const isDigit = (byte: number): boolean => byte >= zero && byte <= 0x39

const literals = ['true', 'false', 'null'].map(word => Buffer.from(word))

/** The place behind the number, `true`, `false` or `null` that stands at `start`. */
export function scalarEnd({ bytes }: Text, start: number): number {
  const first = bytes[start] ?? 0
  if (first === minus || isDigit(first)) return numberEnd(bytes, start)
  const literal = literals.find(candidate => candidate[0] === first)
  return literal?.every((byte, at) => bytes[start + at] === byte) ? start + literal.length : broken
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
