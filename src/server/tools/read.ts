import { Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { defineTool, done } from './tool.ts'

const mostLines = 2000
const longestLine = 2000
const binaryProbeBytes = 8192

/** Shows a text file with line numbers. */
export const readTool = defineTool({
  name: 'read',
  description: `Read a text file of the workspace with line numbers, at most ${mostLines} lines a call.`,
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
  async run({ file_path, view_range }, { sandbox }) {
    const bytes = await sandbox.files.read(file_path)
    if (bytes.subarray(0, binaryProbeBytes).includes(0)) throw invalid(`${file_path}: it is a binary file`)
    const lines = bytes.toString('utf8').split('\n')
    if (lines.at(-1) === '') lines.pop()
    if (lines.length === 0) return done('(the file is empty)')
    const [first, last] = lineRange(view_range, lines.length)
    const shown = lines.slice(first - 1, last).map((line, index) => numbered(first + index, line))
    const rest = first > 1 || last < lines.length ? [`[lines ${first} to ${last} of ${lines.length}]`] : []
    return done([...shown, ...rest].join('\n'))
  },
})

function lineRange(range: readonly number[] | undefined, count: number): [first: number, last: number] {
  const [first = 1, end = -1] = range ?? []
  const last = end === -1 ? count : end
  if (first < 1) throw invalid('view_range: lines are counted from 1')
  if (first > count) throw invalid(`view_range: the file has only ${count} lines`)
  if (last < first) throw invalid('view_range: the last line is before the first')
  return [first, Math.min(last, count, first + mostLines - 1)]
}

function numbered(number: number, line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  return `${String(number).padStart(6)}\t${text.length > longestLine ? `${text.slice(0, longestLine)}...` : text}`
}
