import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type Cell, csvLine } from '../../contract/csv.ts'

/** Table that a handler returns instead of JSON. Rows are read as fast as the client reads. */
export class CsvFile {
  /** Without a file extension. */
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: AsyncIterable<readonly Cell[]>

  constructor(name: string, columns: readonly string[], rows: AsyncIterable<readonly Cell[]>) {
    this.name = name
    this.columns = columns
    this.rows = rows
  }
}

/** Sends a table as a download. A failure after the first row aborts the connection. Security: S47. */
export async function sendCsv(reply: FastifyReply, { name, columns, rows }: CsvFile): Promise<FastifyReply> {
  const rest = rows[Symbol.asyncIterator]()
  // Fetched before the headers, so that an early failure is still an error response.
  const first = await rest.next()
  async function* lines() {
    yield csvLine(columns)
    try {
      for (let row = first; !row.done; row = await rest.next()) yield csvLine(row.value)
    } finally {
      await rest.return?.()
    }
  }
  return reply
    .type('text/csv; charset=utf-8; header=present')
    .headers({
      'content-disposition': `attachment; filename="${name}.csv"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    .send(Readable.from(lines()))
}

/** Yields the rows of a list, loaded page by page. `placeOf` returns the value for `after`. */
export async function* allRows<T>(
  load: (page: { after: string | undefined; limit: number }) => Promise<T[]>,
  placeOf: (item: T) => string,
): AsyncGenerator<T, void> {
  let after: string | undefined
  for (;;) {
    const rows = await load({ after, limit: pageRows })
    yield* rows
    const last = rows.at(-1)
    if (rows.length < pageRows || last === undefined) return
    after = placeOf(last)
  }
}

const pageRows = 500
