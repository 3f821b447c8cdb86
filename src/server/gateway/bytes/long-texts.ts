import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { wordBits } from '../core/request-words.ts'
import type { OwnMembers } from './json-members.ts'
import type { Span } from './json-scanner.ts'

/** Request body whose long texts were replaced by tokens. */
export interface ExtractedTexts {
  /** The body with a token in place of each text. */
  readonly text: string
  /** Total size of the texts. */
  readonly bytes: number
  /** Replaces the tokens in a converted JSON body by the original bytes of the texts. */
  restore(body: Buffer): Buffer
}

/** Members whose text every format forwards unchanged. */
const names = ['"text"', '"content"'].map(name => Buffer.from(name))
const billingHeader = Buffer.from('x-anthropic-billing-header')

const colon = 0x3a
const quote = 0x22
const backslash = 0x5c
const semicolon = 0x3b
const zero = 0x30

/**
 * Random, so that no caller can guess it. The backslashes before its quote show how many JSON texts a token is nested
 * in.
 */
const mark = randomBytes(12).toString('hex')
const markBytes = Buffer.from(mark)
const tokenOf = (index: number): string => `"${mark}${index};`

/**
 * Replaces the long texts of a JSON body, which the scan found, with tokens: converting the body then does not parse
 * and escape them. Returns undefined when there are none. Texts that a conversion reads are left in place: see
 * `isPlain`.
 */
export function extractLongTexts(body: Buffer, found: OwnMembers | undefined): ExtractedTexts | undefined {
  if (found?.body !== body || !found.long?.length || mayContainDocuments(found)) return undefined
  const spans = found.long.filter(span => isTextMember(body, span.start) && isPlain(body, span))
  if (spans.length === 0 || !isUtf8(body)) return undefined
  const pieces: string[] = []
  let at = 0
  let bytes = 0
  for (const [index, { start, end }] of spans.entries()) {
    pieces.push(body.toString('utf8', at, start), JSON.stringify(tokenOf(index)))
    at = end
    bytes += end - start
  }
  pieces.push(body.toString('utf8', at))
  return { text: pieces.join(''), bytes, restore: made => restored(made, { body, spans }) }
}

/** A conversion may read the text of a document, because some formats take it as base64. */
const mayContainDocuments = ({ foundWords, hasEscapedLetter }: OwnMembers): boolean =>
  (foundWords & wordBits.document) !== 0 || hasEscapedLetter

/** Reports whether the string that starts at `start` is the value of one of the members above. */
function isTextMember(body: Buffer, start: number): boolean {
  const at = beforeBlank(body, start)
  if (body[at - 1] !== colon) return false
  const end = beforeBlank(body, at - 1)
  return names.some(name => body.subarray(end - name.length, end).equals(name))
}

function beforeBlank(body: Buffer, end: number): number {
  let at = end
  while (body[at - 1] === 0x20 || body[at - 1] === 0x0a || body[at - 1] === 0x0d || body[at - 1] === 0x09) at--
  return at
}

/** False for texts that a conversion changes: it trims trailing space and removes Claude Code's billing header. */
function isPlain(body: Buffer, { start, end }: Span): boolean {
  const last = body[end - 2] ?? 0
  const endsPlainly = last > 0x20 && last < 0x7f && !body.subarray(end - 7, end - 2).includes(backslash)
  return endsPlainly && !body.subarray(start + 1, start + 1 + billingHeader.length).equals(billingHeader)
}

interface Source {
  readonly body: Buffer
  readonly spans: readonly Span[]
}

function restored(made: Buffer, source: Source): Buffer {
  const parts: Buffer[] = []
  let done = 0
  for (let found = made.indexOf(markBytes); found >= 0; found = made.indexOf(markBytes, done)) {
    const end = made.indexOf(semicolon, found)
    const start = beforeQuote(made, found)
    parts.push(made.subarray(done, start), textAt(source, made.subarray(found + mark.length, end), found - start))
    done = end + 1
  }
  return Buffer.concat([...parts, made.subarray(done)])
}

/** Returns the start of a token's quote, with the backslashes before it. */
function beforeQuote(made: Buffer, found: number): number {
  let at = made[found - 1] === quote ? found - 1 : found
  while (made[at - 1] === backslash) at--
  return at
}

/**
 * Returns the text of a token, escaped for its nesting: `quoteBytes` is 2 in a JSON text, 4 in a nested one, then 8.
 */
function textAt({ body, spans }: Source, digits: Buffer, quoteBytes: number): Buffer {
  let index = 0
  for (const digit of digits) index = 10 * index + digit - zero
  const span = spans[index]
  if (!span) throw new Error('long text of the request is missing (bug)')
  const text = body.subarray(span.start + 1, span.end - 1)
  if (quoteBytes === 2) return text
  let escaped = text.toString()
  for (let left = quoteBytes; left > 2; left /= 2) escaped = JSON.stringify(escaped).slice(1, -1)
  return Buffer.from(escaped)
}
