import { Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { maxFileBytes } from '../sandboxes/sandbox.ts'
import { describeMedia, type Media, mediaBlock, mediaIn, mediaProblem } from './media.ts'
import { type Answer, defineTool, done, failed, type ToolContext } from './tool.ts'

const maxLines = 2000
const maxLineLength = 2000
const binaryProbeBytes = 8192

/** Returns a text file with line numbers, or an image or a PDF file for a model that reads them. */
export const readTool = defineTool({
  name: 'read',
  description:
    `Read a file of the workspace: text with line numbers, at most ${maxLines} lines per call; images (PNG, JPEG, GIF, ` +
    'WebP) and PDF files as such, if you can see them.',
  input: Type.Object({
    file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
    view_range: Type.Optional(
      Type.Array(Type.Integer(), {
        minItems: 2,
        maxItems: 2,
        description: 'First and last line, counted from 1; -1 as the last is the end of the file',
      }),
    ),
    offset: Type.Optional(Type.Integer({ minimum: 1, description: 'First line, instead of view_range' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Number of lines, instead of view_range' })),
  }),
  idempotent: true,
  reads: true,
  // The file in pieces and as a whole; the base64 of an image is smaller.
  memoryBytes: () => 2 * maxFileBytes,
  async run({ file_path, ...range }, { sandbox, model, limits }) {
    const bytes = await sandbox.files.read(file_path)
    const media = mediaIn(bytes)
    if (media) return mediaAnswer(file_path, { media, bytes, model, hasRange: Object.keys(range).length > 0 })
    if (bytes.subarray(0, binaryProbeBytes).includes(0)) throw invalid(`${file_path}: binary file`)
    const count = countLines(bytes)
    if (count === 0) return done('(the file is empty)')
    const [first, last] = lineRange(range, count)
    const lines = linesOf(bytes, first, last).map((line, index) => numbered(first + index, line))
    const shown = linesThatFit(lines, limits.resultChars - noteChars)
    const end = first + shown.length - 1
    const more = end < last ? `; continue with offset ${end + 1}` : ''
    const rest = first > 1 || end < count ? [`[lines ${first} to ${end} of ${count}${more}]`] : []
    return done([...shown, ...rest].join('\n'))
  },
})

interface ReadMedia {
  readonly media: Media
  readonly bytes: Buffer
  readonly model: ToolContext['model']
  readonly hasRange: boolean
}

function mediaAnswer(path: string, { media, bytes, model, hasRange }: ReadMedia): Answer {
  const problem = mediaProblem(media, bytes, model)
  const description = `${path}: ${describeMedia(media, bytes)}`
  if (problem !== undefined) return failed(`${description}; ${problem}`)
  if (hasRange) throw invalid(`${description}; it has no lines, leave out view_range, offset and limit`)
  return { ...done(description), media: mediaBlock(media, bytes) }
}

/** Room for the note after the lines. */
const noteChars = 200

/** Returns the first lines with at most `chars` characters, at least one. */
function linesThatFit(lines: readonly string[], chars: number): readonly string[] {
  let length = 0
  const end = lines.findIndex((line, at) => {
    length += line.length + 1
    return length > chars && at > 0
  })
  return end < 0 ? lines : lines.slice(0, end)
}

const newLine = 10

/** Returns the number of lines; text after the last line end counts as a line. */
function countLines(bytes: Buffer): number {
  let ends = 0
  // By index: an iterator over 10 MiB would block the process for 0.1 s.
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === newLine) ends++
  return bytes.length === 0 || bytes.at(-1) === newLine ? ends : ends + 1
}

/** Returns the lines from `first` to `last` without line ends. Only these are decoded to text later. */
function linesOf(bytes: Buffer, first: number, last: number): Buffer[] {
  let start = 0
  for (let line = 1; line < first; start++) if (bytes[start] === newLine) line++
  const lines: Buffer[] = []
  while (lines.length <= last - first) {
    const end = bytes.indexOf(newLine, start)
    const stop = end < 0 ? bytes.length : end
    lines.push(bytes.subarray(start, stop))
    start = stop + 1
  }
  return lines
}

interface Range {
  readonly view_range?: readonly number[]
  readonly offset?: number
  readonly limit?: number
}

function lineRange(range: Range, count: number): [first: number, last: number] {
  const [first, last] = range.view_range ? viewRange(range) : offsetRange(range)
  if (first > count) {
    const field = range.view_range ? 'view_range' : 'offset'
    throw invalid(`${field}: file has only ${count} lines`)
  }
  return [first, Math.min(last, count, first + maxLines - 1)]
}

function offsetRange({ offset = 1, limit = maxLines }: Range): [first: number, last: number] {
  return [offset, offset + limit - 1]
}

function viewRange({ view_range = [], offset, limit }: Range): [first: number, last: number] {
  if (offset !== undefined || limit !== undefined) throw invalid('use either view_range, or offset and limit')
  const [first = 1, end = -1] = view_range
  if (first < 1) throw invalid('view_range: lines start at 1')
  const last = end === -1 ? Number.POSITIVE_INFINITY : end
  if (last < first) throw invalid('view_range: last line is before first line')
  return [first, last]
}

/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const bytesOfUnit = 3

function numbered(number: number, line: Buffer): string {
  const isCarriageReturn = line.at(-1) === 13
  const shown = isCarriageReturn ? line.subarray(0, -1) : line
  const text = shown.toString('utf8', 0, bytesOfUnit * (maxLineLength + 1))
  return `${String(number).padStart(6)}\t${text.length > maxLineLength ? `${text.slice(0, maxLineLength)}...` : text}`
}
