import type { BatchRow } from './batch-store.ts'
import type { EndedLine, LineStore, LineType } from './line-store.ts'

const fields: Readonly<Partial<Record<LineType, string>>> = { succeeded: 'message', errored: 'error' }

/** Returns a line of the results in Anthropic's format. */
export function anthropicLine({ custom_id, type, result }: EndedLine): string {
  const field = fields[type]
  const value = field === undefined ? '' : `,"${field}":${result}`
  return `{"custom_id":${JSON.stringify(custom_id)},"result":{"type":"${type}"${value}}}\n`
}

const missing: Readonly<Partial<Record<LineType, string>>> = {
  canceled: JSON.stringify({
    code: 'batch_cancelled',
    message: 'the batch was cancelled before this request was made',
  }),
  expired: JSON.stringify({
    code: 'batch_expired',
    message: 'the completion window of the batch ended before this request was made',
  }),
}

/** Returns a line of the output file or the error file in OpenAI's format. */
export function openAiLine({ seq, custom_id, type, status, request_id, result }: EndedLine): string {
  const id = `batch_req_${request_id?.slice('req_'.length) ?? seq}`
  const answer = `{"status_code":${status},"request_id":${JSON.stringify(request_id)},"body":${result}}`
  const [response, error] = status === null ? ['null', missing[type] ?? result] : [answer, 'null']
  return `{"id":"${id}","custom_id":${JSON.stringify(custom_id)},"response":${response},"error":${error}}\n`
}

interface Wanted {
  /** Undefined: all lines; else those that succeeded, or the others. */
  readonly isSuccess?: boolean
  readonly lineOf: (line: EndedLine) => string
}

/** Yields the lines of a batch in the order of its requests, page by page. */
export async function* resultLines(
  lines: Pick<LineStore, 'page'>,
  batch: Pick<BatchRow, 'id'>,
  { isSuccess, lineOf }: Wanted,
): AsyncGenerator<Buffer> {
  let after = -1
  for (;;) {
    const page = await lines.page(batch, { after, ...(isSuccess !== undefined && { isSuccess }) })
    for (const line of page) yield Buffer.from(lineOf(line))
    const last = page.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}
