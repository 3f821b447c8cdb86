import { Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { maxFileBytes } from '../sandboxes/sandbox.ts'
import { defineTool, done } from './tool.ts'

const maxLines = 2000
const maxLineLength = 2000
const binaryProbeBytes = 8192

/** Returns a text file with line numbers. */
export const readTool = defineTool({
  name: 'read',
  description: `Read a text file of the workspace with line numbers, at most ${maxLines} lines per call.`,
  input: Type.Object({
    file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
    view_range: Type.Optional(
      Type.Array(Type.Integer(), {
        minItems: 2,
        maxItems: 2,
        description: 'First and last line, counted from 1; -1 as the last is the end of the file',
      }),
    ),
  }),
  idempotent: true,
  reads: true,
  memoryBytes: () => 2 * maxFileBytes,
  async run({ file_path, view_range }, { sandbox }) {
    const bytes = await sandbox.files.read(file_path)
    if (bytes.subarray(0, binaryProbeBytes).includes(0)) throw invalid(`${file_path}: binary file`)
    const count = countLines(bytes)
    if (count === 0) return done('(the file is empty)')
    const [first, last] = lineRange(view_range, count)
    const shown = linesOf(bytes, first, last).map((line, index) => numbered(first + index, line))
    const rest = first > 1 || last < count ? [`[lines ${first} to ${last} of ${count}]`] : []
    return done([...shown, ...rest].join('\n'))
  },
})

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

function lineRange(range: readonly number[] | undefined, count: number): [first: number, last: number] {
  const [first = 1, end = -1] = range ?? []
  const last = end === -1 ? count : end
  if (first < 1) throw invalid('view_range: lines start at 1')
  if (first > count) throw invalid(`view_range: file has only ${count} lines`)
  if (last < first) throw invalid('view_range: last line is before first line')
  return [first, Math.min(last, count, first + maxLines - 1)]
}

/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const bytesOfUnit = 3

function numbered(number: number, line: Buffer): string {
  const isCarriageReturn = line.at(-1) === 13
  const shown = isCarriageReturn ? line.subarray(0, -1) : line
  const text = shown.toString('utf8', 0, bytesOfUnit * (maxLineLength + 1))
  return `${String(number).padStart(6)}\t${text.length > maxLineLength ? `${text.slice(0, maxLineLength)}...` : text}`
}
