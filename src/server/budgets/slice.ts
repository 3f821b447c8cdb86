import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import type { Usage } from '../usage/usage.ts'
import type { BudgetState } from './reservation-store.ts'

/** Amount that this process has reserved in the budgets of a group of payers. It admits their calls in memory. */
export interface Slice {
  readonly id: string
  /** Budgets of the reservation, in their state before it. */
  readonly budgets: readonly BudgetState[]
  readonly createdMs: number
  /** False once it admits no more calls. */
  readonly isOpen: boolean
  /** Maximum cost of the calls in flight, in pico-dollars. */
  readonly reserved: bigint
  /** Draws `pico` pico-dollars for a call; false if too little is left. */
  draw(pico: bigint): boolean
  /** Must be called when a drawn call ends: replaces the drawn amount with its cost. The caller books the row. */
  spent(drawn: bigint, costUsd: string | null | undefined): void
  /** Stops admitting calls and releases what the calls in flight do not need. */
  close(): void
}

/** A slice without calls is released after this time. */
const idleMs = 100

interface SliceOptions {
  readonly id: string
  readonly amount: bigint
  readonly budgets: readonly BudgetState[]
  /** Monotonic. */
  readonly nowMs: () => number
  readonly releaseShare: Usage['releaseShare']
  /** Called with the cost of each ended call, in pico-dollars. */
  readonly onSpent: (cost: bigint) => void
  /** Called once the slice is closed and its last call has ended. */
  readonly onOver: () => void
}

/** Returns a slice over `amount` pico-dollars, which must be reserved under `id`. */
export function createSlice({ id, amount, budgets, nowMs, releaseShare, onSpent, onOver }: SliceOptions): Slice {
  let room = amount
  let reserved = 0n
  let calls = 0
  let isOpen = true

  let idleTimer: NodeJS.Timeout | undefined
  let idleSinceMs = nowMs()

  /** One timer serves all calls that end while it runs. */
  const checkIdle = (): void => {
    idleTimer = undefined
    if (!isOpen || calls > 0) return
    if (nowMs() - idleSinceMs < idleMs) idleTimer = setTimeout(checkIdle, idleMs).unref()
    else close()
  }

  const releaseRoom = (): void => {
    if (calls === 0) onOver()
    if (calls > 0 && room <= 0n) return
    releaseShare({ id, unusedUsd: usdOf(room > 0n ? room : 0n), isOver: calls === 0 })
    room = 0n
  }

  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(idleTimer)
    releaseRoom()
  }

  return {
    id,
    budgets,
    createdMs: nowMs(),
    get isOpen() {
      return isOpen
    },
    get reserved() {
      return reserved
    },
    draw(pico) {
      if (!isOpen || room < pico) return false
      room -= pico
      reserved += pico
      calls++
      return true
    },
    spent(drawn, costUsd) {
      const cost = picoDollarsOf(costUsd ?? '0')
      room += drawn - cost
      reserved -= drawn
      calls--
      onSpent(cost)
      if (!isOpen) releaseRoom()
      else if (calls === 0) {
        idleSinceMs = nowMs()
        idleTimer ??= setTimeout(checkIdle, idleMs).unref()
      }
    },
    close,
  }
}

/** Returns the smallest remaining amount of the budgets, in pico-dollars; undefined if none limits money. */
export function remainingIn(budgets: readonly BudgetState[]): bigint | undefined {
  let min: bigint | undefined
  for (const { max_usd, spent_usd, reserved_usd } of budgets) {
    if (max_usd === null) continue
    const left = picoDollarsOf(max_usd) - picoDollarsOf(spent_usd) - picoDollarsOf(reserved_usd)
    if (min === undefined || left < min) min = left
  }
  return min
}

/** True if slices may be used: limits on requests, tokens and concurrent calls must be counted call by call. */
export const limitsOnlyMoney = (budgets: readonly BudgetState[]): boolean =>
  budgets.length > 0 &&
  budgets.every(
    ({ rpm_limit, tpm_limit, max_parallel }) => rpm_limit === null && tpm_limit === null && max_parallel === null,
  )
