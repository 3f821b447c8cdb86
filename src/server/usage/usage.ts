import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { SliceShare } from './book-store.ts'
import { createLedgerRoom } from './ledger-room.ts'
import type { SoftLimitPassed, UsageRow } from './rows.ts'
import type { EndedCalls, UsageStore } from './store.ts'

interface Options {
  readonly store: Pick<UsageStore, 'settle'>
  readonly log: Pick<Log, 'warn' | 'error'>
  /** True for errors that a retry may resolve, such as a lost connection. */
  readonly isTransient: (error: unknown) => boolean
  /** True for errors that mean that the database is unreachable; `isTransient` by default. */
  readonly isUnreachable?: (error: unknown) => boolean
  /** How long rows without a reservation are gathered into a batch; 50 by default. */
  readonly gatherMs?: number
  /** Interval of flushes, which retry failed batches; 1,000 by default. */
  readonly periodMs?: number
  /** Maximum number of unwritten rows; no call starts above 80 % of it. 10,000 by default. */
  readonly capacity?: number
  /** How long a call waits for room; 2,000 by default. */
  readonly patienceMs?: number
}

/** The ledger of model calls. */
export interface Usage {
  /**
   * Queues a row: it is written within about 10 ms if the call has a reservation or a batch is full, else within 100
   * ms, since unwritten rows are lost with the process. Never throws and never blocks a call.
   */
  book(row: UsageRow): void
  /** Queues the release of the reservation of a call that never reached an upstream. */
  release(requestId: string): void
  /** Queues the release of an unused amount of a slice of budgets. */
  releaseShare(share: SliceShare): void
  /** Writes rows and releases at once. Rejects on failure, and does not queue them. */
  bookNow(ended: Pick<EndedCalls, 'rows' | 'shares'> & Partial<Pick<EndedCalls, 'released'>>): Promise<void>
  /** Calls `listener` for each budget that just reached its soft limit. */
  onSoftLimit(listener: (passed: SoftLimitPassed) => void): void
  /** Resolves once everything queued before this call was written or failed. */
  flush(): Promise<void>
  /**
   * Returns undefined while calls may start. If the ledger is behind, resolves once there is room; rejects with
   * `overloaded` after `patienceMs`, and with `unavailable` if the database is unreachable.
   */
  room(): Promise<void> | undefined
  /** Flushes the queue and stops the timers. Logs the number of rows that cannot be written. */
  stop(): Promise<void>
}

/** Bounds the parameters of one statement to some hundred KB. */
const batchSize = 500

/** The rest of the capacity is for calls that are in flight by then. */
const maxFill = 0.8

/** Pause between two batches with reservations: the fixed cost of a batch equals that of ten calls or more. */
const pauseMs = 10

/** Creates the ledger. It settles calls in batches, outside of the call path, and retries failed batches. */
export function createUsage({ store, log, isTransient, ...options }: Options): Usage {
  const {
    isUnreachable = isTransient,
    gatherMs = 50,
    periodMs = 1_000,
    capacity = 10_000,
    patienceMs = 2_000,
  } = options
  let rows: UsageRow[] = []
  let released: string[] = []
  let shares: SliceShare[] = []
  /** Batch in flight. A retry must send the same batch, so that the store can detect one that was committed before. */
  let batch: EndedCalls | undefined
  const listeners: ((passed: SoftLimitPassed) => void)[] = []
  /** Items ever queued, and those settled or dropped. */
  let taken = 0
  let done = 0
  /** The one running writer; resolves to false if a batch failed. */
  let writing: Promise<boolean> | undefined
  /** A flush is due; and `flushSoon` is running. */
  let isFlushDue = false
  let isFlushing = false
  let gathering: NodeJS.Timeout | undefined
  const room = createLedgerRoom({ maxRows: Math.ceil(capacity * maxFill), patienceMs, waiting: () => rows.length })

  const settle = async (ended: EndedCalls): Promise<void> => {
    for (const passed of await store.settle(ended)) {
      logSoftLimit(log, passed)
      for (const listener of listeners) listener(passed)
    }
  }

  const write = async (batch: EndedCalls): Promise<void> => {
    try {
      await settle(batch)
    } catch (error) {
      if (isTransient(error)) throw error
      const singles = singlesOf(batch)
      // One bad row must not fail the others.
      if (singles.length > 1) for (const single of singles) await write(single)
      else log.error({ err: error, request_id: idsOf(batch)[0] }, 'cannot write a usage row; dropped it')
    }
  }

  /** Slice releases follow after all queued rows, since they may account for them. */
  const nextBatch = (): EndedCalls => ({
    id: newId('use'),
    rows: rows.slice(0, batchSize),
    released: released.slice(0, batchSize),
    shares: rows.length > batchSize ? [] : shares.slice(0, batchSize),
  })

  /** Writes what is queued now. Items queued meanwhile wait for the next round, so that batches stay large. */
  const writeAll = async (): Promise<boolean> => {
    const target = taken
    while (done < target) {
      batch ??= nextBatch()
      try {
        await write(batch)
      } catch (error) {
        log.warn({ err: error, rows: rows.length }, 'cannot write usage rows; retrying')
        if (isUnreachable(error)) room.failed()
        return false
      }
      rows = rows.slice(batch.rows.length)
      released = released.slice(batch.released.length)
      shares = shares.slice(batch.shares.length)
      done += batch.rows.length + batch.released.length + batch.shares.length
      batch = undefined
      room.written()
    }
    return true
  }

  const flush = async (): Promise<void> => {
    const target = taken
    while (writing) if (!(await writing)) return
    if (done >= target) return
    writing = writeAll().finally(() => {
      writing = undefined
    })
    await writing
  }

  /**
   * Flushes after this turn of the event loop, then with pauses, so that calls that end together are settled together.
   */
  const flushSoon = async (): Promise<void> => {
    isFlushDue = true
    if (isFlushing) return
    isFlushing = true
    await nextTurn()
    while (isFlushDue) {
      isFlushDue = false
      await flush()
      await pause(pauseMs)
    }
    isFlushing = false
  }

  const onGathered = (): void => {
    gathering = undefined
    void flushSoon()
  }

  const stopTimer = every(periodMs, flush)
  return {
    book(row) {
      rows.push(row)
      taken++
      const isReserved = row.held_usd !== null && row.held_usd !== undefined
      if (isReserved || rows.length >= batchSize) void flushSoon()
      else if (gathering === undefined) gathering = setTimeout(onGathered, gatherMs).unref()
    },
    release(requestId) {
      released.push(requestId)
      taken++
      void flushSoon()
    },
    releaseShare(share) {
      shares.push(share)
      taken++
      void flushSoon()
    },
    bookNow: ended => settle({ id: newId('use'), released: [], ...ended }),
    onSoftLimit: listener => void listeners.push(listener),
    flush,
    room: room.enter,
    async stop() {
      clearTimeout(gathering)
      await stopTimer()
      await flush()
      if (rows.length > 0) log.error({ rows: rows.length }, 'usage rows are lost: the database is unreachable')
    },
  }
}

/** Splits a batch into one batch per item. */
function singlesOf(batch: EndedCalls): readonly EndedCalls[] {
  const none = { rows: [], released: [], shares: [] }
  const parts = [
    ...batch.rows.map(row => ({ ...none, rows: [row] })),
    ...batch.released.map(id => ({ ...none, released: [id] })),
    ...batch.shares.map(share => ({ ...none, shares: [share] })),
  ]
  return parts.map((part, at) => ({ ...part, id: `${batch.id}.${at}` }))
}

const idsOf = ({ rows, released, shares }: EndedCalls) => [
  ...rows.map(({ request_id }) => request_id),
  ...released,
  ...shares.map(({ id }) => id),
]

function logSoftLimit(log: Options['log'], { scope, scope_id, ...figures }: SoftLimitPassed): void {
  log.warn({ scope, scope_id, ...figures }, 'soft budget reached')
}
