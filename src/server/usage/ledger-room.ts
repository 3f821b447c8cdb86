import { AppError } from '../platform/errors.ts'

interface Options {
  /** Number of unwritten rows at which the gateway rejects new calls. */
  readonly maxRows: number
  /** How long a call waits for room. */
  readonly patienceMs: number
  /** Returns the number of unwritten rows. */
  readonly waiting: () => number
}

/** Delays new calls while the ledger is behind, so that it never drops a row. */
export interface LedgerRoom {
  /** Returns undefined while there is room; else resolves once there is, or rejects with AppError. */
  readonly enter: () => Promise<void> | undefined
  /** Must be called after a batch was written. */
  written(): void
  /** Must be called after a batch failed because the database is unreachable. */
  failed(): void
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: AppError) => void
  readonly timer: NodeJS.Timeout
}

/** Bounded since each waiting call keeps its body in memory. */
const maxWaiters = 1_000

export function createLedgerRoom({ maxRows, patienceMs, waiting }: Options): LedgerRoom {
  const waiters = new Set<Waiter>()
  let isUnreachable = false

  const endAll = (end: (waiter: Waiter) => void): void => {
    for (const waiter of waiters) {
      clearTimeout(waiter.timer)
      end(waiter)
    }
    waiters.clear()
  }

  return {
    enter() {
      if (waiting() < maxRows) return undefined
      if (isUnreachable) return Promise.reject(unreachable())
      if (waiters.size >= maxWaiters) return Promise.reject(behind())
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const giveUp = (): void => {
        waiters.delete(waiter)
        reject(behind())
      }
      const waiter: Waiter = { resolve, reject, timer: setTimeout(giveUp, patienceMs).unref() }
      waiters.add(waiter)
      return promise
    },
    written() {
      isUnreachable = false
      if (waiters.size > 0 && waiting() < maxRows) endAll(({ resolve }) => resolve())
    },
    failed() {
      isUnreachable = true
      endAll(({ reject }) => reject(unreachable()))
    },
  }
}

const behind = (): AppError =>
  new AppError('overloaded', 'usage ledger is behind; retry after 1 s', { headers: { 'retry-after': '1' } })

const unreachable = (): AppError =>
  new AppError('unavailable', 'database is unreachable and the usage ledger is full; retry after 5 s', {
    headers: { 'retry-after': '5' },
  })
