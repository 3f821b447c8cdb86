import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { UsageRow, UsageStore } from './store.ts'

interface Options {
  readonly store: Pick<UsageStore, 'insert'>
  readonly log: Pick<Log, 'warn' | 'error'>
  /** True for an error that another try may cure, such as a lost connection. */
  readonly isPassing: (error: unknown) => boolean
  /** How long a row waits at most before it is written; 1,000 by default. */
  readonly periodMs?: number
  /** Rows that may wait; above it the newest are lost, and the log says how many. 10,000 by default. */
  readonly capacity?: number
}

/** The ledger of model calls. */
export interface Usage {
  /** Takes a row to be written soon. Never throws and never waits: no call is held up by its booking. */
  book(row: UsageRow): void
  /** Writes what waits, then takes no time any more. What cannot be written is counted in the log. */
  stop(): Promise<void>
}

/** Bounds what one statement carries to some hundred KB. */
const batchSize = 500

/** Writes usage rows in batches, outside the path of the calls. A failed batch stays and is tried again. */
export function createUsage({ store, log, isPassing, periodMs = 1_000, capacity = 10_000 }: Options): Usage {
  let waiting: UsageRow[] = []
  let lost = 0

  const write = async (rows: readonly UsageRow[]): Promise<void> => {
    try {
      await store.insert(rows)
    } catch (error) {
      if (isPassing(error)) throw error
      const [row] = rows
      if (rows.length > 1) {
        // One bad row must not take its neighbours along.
        for (const single of rows) await write([single])
      } else log.error({ err: error, request_id: row?.request_id }, 'a usage row cannot be written and is dropped')
    }
  }

  const flush = async (): Promise<void> => {
    if (lost > 0) log.error({ rows: lost }, 'usage rows were lost: too many waited for the database')
    lost = 0
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchSize)
      try {
        await write(batch)
      } catch (error) {
        log.warn({ err: error, rows: waiting.length }, 'usage cannot be written now; it is kept')
        return
      }
      waiting = waiting.slice(batch.length)
    }
  }

  const stopTimer = every(periodMs, flush)
  return {
    book(row) {
      if (waiting.length < capacity) waiting.push(row)
      else lost++
    },
    async stop() {
      await stopTimer()
      await flush()
      if (waiting.length > 0) log.error({ rows: waiting.length }, 'usage rows are lost: the database is away')
    },
  }
}
