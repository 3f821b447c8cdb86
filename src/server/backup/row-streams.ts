import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { type ClientBase, DatabaseError } from 'pg'
import { from, to } from 'pg-copy-streams'
import { asUnavailable } from '../db/connect.ts'
import { AppError } from '../platform/errors.ts'
import { quoted } from './catalog-store.ts'
import type { BackupTable } from './format.ts'

const target = ({ name, columns }: BackupTable): string => `${quoted(name)} (${columns.map(quoted).join(', ')})`

/** Yields the rows of a table in the text format of COPY, as fast as the caller takes them. */
export async function* rowsOf(client: ClientBase, table: BackupTable): AsyncGenerator<Buffer> {
  const stream = client.query(to(`copy ${target(table)} to stdout`))
  // When the caller leaves early, the stream reports the end of its connection, which has no other reader.
  stream.on('error', () => undefined)
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** A table that is being filled. */
export interface FillingTable {
  write(rows: Buffer): Promise<void>
  /** Returns the number of inserted rows. */
  end(): Promise<number>
  /** Ends without the remaining rows, so that the connection can be used again. The transaction has failed. */
  abort(): Promise<void>
}

/** Starts to insert rows in the text format of COPY. The connection must not be used until `end` has resolved. */
export function fillTable(client: ClientBase, table: BackupTable): FillingTable {
  const stream = client.query(from(`copy ${target(table)} from stdin`))
  const done = finished(stream).catch(error => {
    throw isFullDisk(error) ? fullDisk(error) : asUnavailable(error)
  })
  // Awaited by `write` and `end`; without this, an early failure would count as unhandled.
  done.catch(() => undefined)
  return {
    async write(rows) {
      if (stream.destroyed || !stream.write(rows)) await Promise.race([once(stream, 'drain'), done])
    },
    async end() {
      stream.end()
      await done
      return stream.rowCount
    },
    async abort() {
      if (!stream.writableFinished) stream.destroy()
      await done.catch(() => undefined)
    },
  }
}

const isFullDisk = (error: unknown): boolean => error instanceof DatabaseError && error.code === '53100'

const fullDisk = (cause: unknown): AppError =>
  new AppError('unavailable', 'the disk of the database is full; free space there and repeat the command', { cause })
