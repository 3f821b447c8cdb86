import { Readable } from 'node:stream'
import { type BatchEndpoint, type BatchError, maxBatchLines } from '../../contract/batches.ts'
import { LineTooLong, linesOf } from '../platform/lines.ts'
import { readInputLine } from './input-line.ts'
import type { LineWriter } from './new-lines.ts'
import type { TargetOfLine } from './provider/target-of-line.ts'

interface Reading {
  readonly content: AsyncIterable<Buffer>
  readonly endpoint: BatchEndpoint
  readonly targetOf: TargetOfLine
  readonly writer: LineWriter
  readonly maxLines?: number
}

/** As large as the body of a single call. */
const maxLineBytes = 32 * 1024 * 1024
const maxErrors = 100

/**
 * Passes the lines of an input file to `writer`. Returns the errors of an invalid file, at most 100. Blank lines are skipped; a file
 * may have as many of them as requests.
 */
export async function readInputFile(reading: Reading): Promise<readonly BatchError[]> {
  const { content, maxLines = maxBatchLines } = reading
  const errors: BatchError[] = []
  const ids = new Set<string>()
  let number = 0
  try {
    for await (const text of linesOf(Readable.from(content), maxLineBytes)) {
      number++
      const excess = excessOf(text, { number, requests: ids.size, maxLines })
      if (excess) return [excess]
      if (isBlank(text)) continue
      const error = await addLine(reading, { text, ids })
      if (error) errors.push({ ...error, line: number })
      if (errors.length === maxErrors) return errors
    }
  } catch (cause) {
    if (!(cause instanceof LineTooLong)) throw cause
    errors.push({ code: 'line_too_long', message: cause.message, line: number + 1, param: null })
  }
  if (errors.length === 0 && ids.size === 0)
    errors.push({ code: 'empty_file', message: 'file has no requests', line: null, param: null })
  return errors
}

const isBlank = (text: string): boolean => text.trim() === ''

interface Place {
  readonly number: number
  /** Requests before this line. */
  readonly requests: number
  readonly maxLines: number
}

/** Returns the error of a line that is one too many of its kind. */
function excessOf(text: string, { number, requests, maxLines }: Place): BatchError | undefined {
  const [count, what] = isBlank(text)
    ? [number - requests, 'blank lines; remove them']
    : [requests + 1, 'requests; split it into several files']
  if (count <= maxLines) return undefined
  const message = `file has more than ${maxLines} ${what}`
  return { code: 'too_many_requests', message, line: number, param: null }
}

interface Read {
  readonly text: string
  /** Ids of the lines before, and of this one. */
  readonly ids: Set<string>
}

async function addLine(
  { endpoint, targetOf, writer }: Reading,
  { text, ids }: Read,
): Promise<Omit<BatchError, 'line'> | undefined> {
  const line = readInputLine(text, { endpoint, targetOf })
  if (!('custom_id' in line)) return line
  const { custom_id, ...rest } = line
  if (ids.has(custom_id)) {
    const message = `custom_id ${custom_id.slice(0, 100)} occurs more than once; custom_id must be unique in a file`
    return { code: 'duplicate_custom_id', message, param: 'custom_id' }
  }
  ids.add(custom_id)
  await writer.add(custom_id, rest)
  return undefined
}
