/** The bytes of a JSON string in a body, quotes included. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** What a scan of a JSON object's own keys found. */
export interface TopLevel {
  /** The value of `model`; undefined when there is none or it is no string. */
  readonly model: Span | undefined
  /** The first of the watched keys that occurs twice. Parsers disagree on which one counts. */
  readonly doubled: string | undefined
}

const quote = 0x22
const backslash = 0x5c

/** Keys that decide cost and route: two of the same would let one program read what another did not check. */
const watchedOfMessages = ['model', 'max_tokens', 'stream'] as const

/**
 * Finds the own keys of the JSON object in `body`, which must be valid JSON. Nested objects are skipped. Only the keys
 * in `watched` are looked at.
 */
export function scanTopLevel(body: Buffer, watched: readonly string[] = watchedOfMessages): TopLevel {
  // The longest spelling writes each character of a key as an escape of six bytes.
  const maxLength = Math.max(...watched.map(key => key.length)) * 6 + 2
  const seen = new Set<string>()
  let model: Span | undefined
  let doubled: string | undefined
  eachOwnString(body, span => {
    if (span.end - span.start > maxLength) return
    const key = keyAt(body, span)
    if (key === undefined || !watched.includes(key)) return
    if (seen.has(key)) doubled ??= key
    seen.add(key)
    if (key === 'model') model = stringAfterColon(body, span.end)
  })
  return { model, doubled }
}

/**
 * Calls back for the strings right inside the outermost brackets: keys, and values that are strings. Bodies of
 * megabytes pass here on every call: a generator instead of the call-back would take five times as long.
 */
function eachOwnString(body: Buffer, onString: (span: Span) => void): void {
  const { length } = body
  let depth = 0
  for (let at = 0; at < length; at++) {
    const byte = body[at]
    if (byte === quote) {
      const end = stringEnd(body, at)
      if (depth === 1) onString({ start: at, end })
      at = end - 1
    } else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) depth--
  }
}

/** The string that follows the colon after a key; undefined for any other value. */
function stringAfterColon(body: Buffer, afterKey: number): Span | undefined {
  const colon = skipBlank(body, afterKey)
  const start = skipBlank(body, colon + 1)
  return body[start] === quote ? { start, end: stringEnd(body, start) } : undefined
}

/** The key that the string at `span` is, escapes resolved; undefined for values. */
function keyAt(body: Buffer, { start, end }: Span): string | undefined {
  return body[skipBlank(body, end)] === 0x3a ? (JSON.parse(body.toString('utf8', start, end)) as string) : undefined
}

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
