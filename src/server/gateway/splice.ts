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

/** `body` with the string at `span` replaced; every other byte stays. */
export function spliceString(body: Buffer, { start, end }: Span, text: string): Buffer {
  return Buffer.concat([body.subarray(0, start), Buffer.from(JSON.stringify(text)), body.subarray(end)])
}
