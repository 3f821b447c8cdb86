/** The bytes of a JSON value in a body; of a string with its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

const quote = 0x22
const backslash = 0x5c

/** A native search for the next quote pays only over a stretch without one, and text full of escapes has many. */
const byteByByte = 128

/** The place after the closing quote of the string that opens at `start`. */
export function stringEnd(body: Buffer, start: number): number {
  let at = start + 1
  while (at < body.length) {
    const soon = Math.min(body.length, at + byteByByte)
    while (at < soon) {
      const byte = body[at]
      if (byte === quote) return at + 1
      at += byte === backslash ? 2 : 1
    }
    const next = body.indexOf(quote, at)
    if (next >= 0 && !isEscaped(body, at, next)) return next + 1
    at = next < 0 ? body.length : next + 1
  }
  return at
}

/** True when an odd number of backslashes stands before the byte at `at`; no escape is open at `from`. */
function isEscaped(body: Buffer, from: number, at: number): boolean {
  let first = at
  while (first > from && body[first - 1] === backslash) first--
  return (at - first) % 2 === 1
}

/** The place of the next byte at or after `from` that is no white space. */
export function skipBlank(body: Buffer, from: number): number {
  let at = from
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++
  return at
}

/** Bytes that go out one behind the other. */
export type Parts = Buffer | readonly Buffer[]

/** From here on a copy costs more than a second write does. */
const worthParts = 32 * 1024

/** `body` with the string at `span` replaced; every other byte stays. Most of a long body is not copied for it. */
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
