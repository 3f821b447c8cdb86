import type { Log } from './log.ts'
import { every } from './timers.ts'

interface Options<Row> {
  /** Noun of the rows in log messages, such as `the log of MCP calls`. */
  readonly name: string
  readonly insert: (rows: readonly Row[]) => Promise<void>
  readonly log: Pick<Log, 'warn'>
}

const periodMs = 1_000
const batchSize = 500
/** Rows that are not written yet; more are dropped and counted in the log. */
const capacity = 10_000

/** Queue of rows that are written in batches, at most a second later; the caller that adds a row never waits. */
export function createRowQueue<Row>({ name, insert, log }: Options<Row>) {
  let rows: Row[] = []
  let dropped = 0
  let writing: Promise<void> | undefined
  let stopFlushing = async (): Promise<void> => undefined

  async function write(): Promise<void> {
    while (rows.length > 0) {
      const batch = rows.slice(0, batchSize)
      try {
        await insert(batch)
      } catch (cause) {
        log.warn({ err: cause, rows: rows.length }, `could not write ${name}; retrying`)
        return
      }
      rows = rows.slice(batch.length)
    }
    if (dropped > 0) log.warn({ rows: dropped }, `dropped rows of ${name}: the database was too slow`)
    dropped = 0
  }

  async function flush(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined
    })
    await writing
  }

  return {
    push(row: Row): void {
      if (rows.length >= capacity) {
        dropped++
        return
      }
      rows.push(row)
      if (rows.length >= batchSize) void flush()
    },
    /** Writes the rows that were pushed before. */
    flush,
    start(): void {
      stopFlushing = every(periodMs, flush)
    },
    async stop(): Promise<void> {
      await stopFlushing()
      await flush()
    },
  }
}
