import { invalid } from '../../platform/errors.ts'
import type { Span } from '../bytes/json-scanner.ts'

/** One part of a form. `start` and `end` are those of its content in the body. */
export interface Part extends Span {
  readonly name: string
  readonly isFile: boolean
}

const maxParts = 100
const maxHeaderBytes = 16 * 1024
const lineEnd = Buffer.from('\r\n')
const headersEnd = Buffer.from('\r\n\r\n')

/** The boundary that a content type names; undefined for one that is not `multipart/form-data`. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) return undefined
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(contentType ?? '') ?? []
  return quoted ?? plain
}

/**
 * The parts of a form, found in place: nothing of the body is copied, and file contents are searched natively for the next
 * boundary only. Throws `invalid_request`.
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
    if (contentAt - headersAt > maxHeaderBytes) throw invalid('a part of the form has headers over 16 KB')
    const start = contentAt + headersEnd.length
    const end = delimiterAt(body, delimiter, start)
    if (end < 0) throw truncated()
    parts.push({ ...headOf(body.toString('utf8', headersAt, contentAt)), start, end })
    if (parts.length > maxParts) throw invalid(`the form has more than ${maxParts} parts`)
    at = end + delimiter.length
  }
  return parts
}

/** Where the content that begins at `from` ends. A longer line that begins as the boundary does belongs to the content. */
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
  if (found < 0) throw invalid('the body does not hold the boundary that content-type names')
  return found + delimiter.length
}

const truncated = () => invalid('request body was truncated: the form has no closing boundary')

function headOf(headers: string): Pick<Part, 'name' | 'isFile'> {
  const disposition = /\r\ncontent-disposition:\s*form-data([^\r\n]*)/i.exec(headers)?.[1] ?? ''
  const [, quoted, plain] = /;\s*name=(?:"([^"]*)"|([^\s;]+))/i.exec(disposition) ?? []
  const name = quoted ?? plain
  if (name === undefined) throw invalid('a part of the form has no name')
  return { name, isFile: /;\s*filename\*?=/i.test(disposition) }
}

/** The form with `value` as the text of its field `name`, which `part` is; a new first part without one. Files are not copied. */
export function withField(
  body: Buffer,
  { boundary, name, value, part }: { boundary: string; name: string; value: string; part: Part | undefined },
): readonly Buffer[] {
  if (part) return [body.subarray(0, part.start), Buffer.from(value), body.subarray(part.end)]
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  return [Buffer.from(head), body]
}
