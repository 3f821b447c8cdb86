import { invalid } from '../../platform/errors.ts'
import { maxPartHeaderBytes, type PartHead, partHeadOf } from '../../platform/form-data.ts'
import type { Span } from '../bytes/json-scanner.ts'

/** Part of a form. `start` and `end` delimit its content in the body. */
export interface Part extends Span, Pick<PartHead, 'name' | 'isFile'> {}

const maxParts = 100
const lineEnd = Buffer.from('\r\n')
const headersEnd = Buffer.from('\r\n\r\n')

/**
 * Returns the parts of a form without copying the body. File contents are only searched for the next boundary. Throws
 * `invalid_request`.
 */
export function partsOf(body: Buffer, boundary: string): readonly Part[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const opening = delimiter.subarray(2)
  const parts: Part[] = []
  let at = startOf(body, opening, delimiter)
  while (body.toString('latin1', at, at + 2) !== '--') {
    const headersAt = body.indexOf(lineEnd, at)
    const contentAt = headersAt < 0 ? -1 : body.indexOf(headersEnd, headersAt)
    if (contentAt < 0) throw truncated()
    if (contentAt - headersAt > maxPartHeaderBytes) throw invalid('a part of the form has headers longer than 16 KiB')
    const start = contentAt + headersEnd.length
    const end = delimiterAt(body, delimiter, start)
    if (end < 0) throw truncated()
    const { name, isFile } = partHeadOf(body.toString('utf8', headersAt, contentAt))
    parts.push({ name, isFile, start, end })
    if (parts.length > maxParts) throw invalid(`the form has more than ${maxParts} parts`)
    at = end + delimiter.length
  }
  return parts
}

/** Returns the end of the content that starts at `from`. A longer line that starts with the boundary is content. */
function delimiterAt(body: Buffer, delimiter: Buffer, from: number): number {
  let at = body.indexOf(delimiter, from)
  while (
    at >= 0 &&
    !/^(--|[ \t]*\r\n)/.test(body.toString('latin1', at + delimiter.length, at + delimiter.length + 64))
  )
    at = body.indexOf(delimiter, at + 1)
  return at
}

function startOf(body: Buffer, opening: Buffer, delimiter: Buffer): number {
  if (body.subarray(0, opening.length).equals(opening)) return opening.length
  const found = body.indexOf(delimiter)
  if (found < 0) throw invalid('request body does not contain the boundary in content-type')
  return found + delimiter.length
}

const truncated = () => invalid('request body was truncated: the form has no closing boundary')

/**
 * Sets the text of the form field `name`, which is `part`; without `part` adds the field first. Files are not copied.
 */
export function withField(
  body: Buffer,
  { boundary, name, value, part }: { boundary: string; name: string; value: string; part: Part | undefined },
): readonly Buffer[] {
  if (part) return [body.subarray(0, part.start), Buffer.from(value), body.subarray(part.end)]
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  return [Buffer.from(head), body]
}
