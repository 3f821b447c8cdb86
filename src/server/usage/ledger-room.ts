import { AppError } from '../platform/errors.ts'

interface Options {
  /** With so many rows that are not written yet no call begins. */
  readonly most: number
  /** How long a call may wait for room. */
  readonly patienceMs: number
  /** Rows that are not written yet. */
  readonly waiting: () => number
}

/** Holds calls back while the ledger is behind, so that no row of a call is ever given up. */
export interface LedgerRoom {
  /** Undefined while there is room; else resolves once there is, or rejects with what the caller should know. */
  readonly enter: () => Promise<void> | undefined
  /** A batch was written. */
  written(): void
  /** A batch could not be written, since the database does not answer. */
  failed(): void
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: AppError) => void
  readonly timer: NodeJS.Timeout
}

/** Each keeps its body in memory meanwhile. */
const maxWaiters = 1_000

export function createLedgerRoom({ most, patienceMs, waiting }: Options): LedgerRoom {
  const waiters = new Set<Waiter>()
  let isAway = false

  const dismiss = (tell: (waiter: Waiter) => void): void => {
    for (const waiter of waiters) {
      clearTimeout(waiter.timer)
      tell(waiter)
    }
    waiters.clear()
  }

  return {
    enter() {
      if (waiting() < most) return undefined
      if (isAway) return Promise.reject(unreachable())
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
      isAway = false
      if (waiters.size > 0 && waiting() < most) dismiss(({ resolve }) => resolve())
    },
    failed() {
      isAway = true
      dismiss(({ reject }) => reject(unreachable()))
    },
  }
}

const behind = (): AppError =>
  new AppError('overloaded', 'usage ledger is behind; retry after 1 s', { headers: { 'retry-after': '1' } })

const unreachable = (): AppError =>
  new AppError('unavailable', 'database is unreachable and the usage ledger is full; retry after 5 s', {
    headers: { 'retry-after': '5' },
  })
