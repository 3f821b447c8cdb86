import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { SliceShare } from './book-store.ts'
import { createLedgerRoom } from './ledger-room.ts'
import type { SoftLimitPassed, UsageRow } from './rows.ts'
import type { Ended, UsageStore } from './store.ts'

interface Options {
  readonly store: Pick<UsageStore, 'settle'>
  readonly log: Pick<Log, 'warn' | 'error'>
  /** True for an error that another try may cure, such as a lost connection. */
  readonly isPassing: (error: unknown) => boolean
  /** True for those that mean that the database does not answer; the same ones by default. */
  readonly isAway?: (error: unknown) => boolean
  /** How long a row waits for others before both are written; 50 by default. */
  readonly gatherMs?: number
  /** After which time rows are written again that could not be; 1,000 by default. */
  readonly periodMs?: number
  /** Rows that may wait; from 80 % of them on no call begins. 10,000 by default. */
  readonly capacity?: number
  /** How long a call may wait for room; 2,000 by default. */
  readonly patienceMs?: number
}

/** The ledger of model calls. */
export interface Usage {
  /**
   * Takes a row to be written soon: within some 10 ms when something is held for the call, or a batch is full; else within
   * 100 ms, since rows that are not written are lost with the process. Never throws and never waits: no call is held up by
   * its booking.
   */
  book(row: UsageRow): void
  /** Gives back, as soon, what is held for a call that never reached an upstream. */
  release(requestId: string): void
  /** Gives back, as soon, what a slice of budgets needs no more. */
  giveBack(share: SliceShare): void
  /** Writes this now. Rejects when that is not possible; it is not kept. */
  bookNow(ended: Pick<Ended, 'rows' | 'shares'>): Promise<void>
  /** Calls `listener` for each budget whose soft limit was just passed. */
  onSoftLimit(listener: (passed: SoftLimitPassed) => void): void
  /** Resolves once all that was booked until now is written, or could not be. */
  flush(): Promise<void>
  /**
   * Undefined while another call may begin. When the ledger is behind it resolves once there is room; it rejects with
   * `overloaded` when that takes too long, and with `unavailable` when the database does not answer.
   */
  room(): Promise<void> | undefined
  /** Writes what waits, then takes no time any more. What cannot be written is counted in the log. */
  stop(): Promise<void>
}

/** Bounds what one statement carries to some hundred KB. */
const batchSize = 500

/** What is left of the capacity is for calls that are at work by then. */
const fullShare = 0.8

/** Between two batches of calls for which something is held: a batch costs as much as ten calls in it, or more. */
const restMs = 10

/** Settles calls in batches, outside of their path. A failed batch stays and is tried again. */
export function createUsage({ store, log, isPassing, ...options }: Options): Usage {
  const { isAway = isPassing, gatherMs = 50, periodMs = 1_000, capacity = 10_000, patienceMs = 2_000 } = options
  let rows: UsageRow[] = []
  let released: string[] = []
  let shares: SliceShare[] = []
  /** What is being written. It stays as it is until it has been: what is in effect already is known by that. */
  let batch: Ended | undefined
  const listeners: ((passed: SoftLimitPassed) => void)[] = []
  /** How many of all were ever taken, and how many of those are settled or dropped. */
  let taken = 0
  let done = 0
  /** One writer at a time; false when the database is away. */
  let writing: Promise<boolean> | undefined
  /** Rows are to be written soon; and who does that is on its way. */
  let isAsked = false
  let isFlushing = false
  let gathering: NodeJS.Timeout | undefined
  const room = createLedgerRoom({ most: Math.ceil(capacity * fullShare), patienceMs, waiting: () => rows.length })

  const settle = async (ended: Ended): Promise<void> => {
    for (const passed of await store.settle(ended)) {
      tellPassed(log, passed)
      for (const listener of listeners) listener(passed)
    }
  }

  const write = async (batch: Ended): Promise<void> => {
    try {
      await settle(batch)
    } catch (error) {
      if (isPassing(error)) throw error
      const singles = singlesOf(batch)
      // One bad row must not take its neighbours along.
      if (singles.length > 1) for (const single of singles) await write(single)
      else log.error({ err: error, request_id: idsOf(batch)[0] }, 'the end of a call cannot be written, and is dropped')
    }
  }

  /** What a slice gives back may follow from rows that wait: it comes behind all of them. */
  const nextBatch = (): Ended => ({
    id: newId('use'),
    rows: rows.slice(0, batchSize),
    released: released.slice(0, batchSize),
    shares: rows.length > batchSize ? [] : shares.slice(0, batchSize),
  })

  /** Writes what is there now. What comes meanwhile waits for the next time, so that batches stay large. */
  const writeAll = async (): Promise<boolean> => {
    const target = taken
    while (done < target) {
      batch ??= nextBatch()
      try {
        await write(batch)
      } catch (error) {
        log.warn({ err: error, rows: rows.length }, 'usage cannot be written now; it is kept')
        if (isAway(error)) room.failed()
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

  /** After this turn of the event loop, and then with a rest: calls that end at about the same time are settled together. */
  const flushSoon = async (): Promise<void> => {
    isAsked = true
    if (isFlushing) return
    isFlushing = true
    await nextTurn()
    while (isAsked) {
      isAsked = false
      await flush()
      await pause(restMs)
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
      const isHeld = row.held_usd !== null && row.held_usd !== undefined
      if (isHeld || rows.length >= batchSize) void flushSoon()
      else if (gathering === undefined) gathering = setTimeout(onGathered, gatherMs).unref()
    },
    release(requestId) {
      released.push(requestId)
      taken++
      void flushSoon()
    },
    giveBack(share) {
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
      if (rows.length > 0) log.error({ rows: rows.length }, 'usage rows are lost: the database is away')
    },
  }
}

/** Each is a batch of its own. */
function singlesOf(batch: Ended): readonly Ended[] {
  const none = { rows: [], released: [], shares: [] }
  const parts = [
    ...batch.rows.map(row => ({ ...none, rows: [row] })),
    ...batch.released.map(id => ({ ...none, released: [id] })),
    ...batch.shares.map(share => ({ ...none, shares: [share] })),
  ]
  return parts.map((part, at) => ({ ...part, id: `${batch.id}.${at}` }))
}

const idsOf = ({ rows, released, shares }: Ended) => [
  ...rows.map(({ request_id }) => request_id),
  ...released,
  ...shares.map(({ id }) => id),
]

function tellPassed(log: Options['log'], { scope, scope_id, ...figures }: SoftLimitPassed): void {
  log.warn({ scope, scope_id, ...figures }, 'a soft budget was passed')
}
