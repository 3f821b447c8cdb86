import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import type { Usage } from '../usage/usage.ts'
import type { BudgetState } from './reservation-store.ts'

/** A part of the budgets of some payers that this process holds: it admits their calls from it in memory. */
export interface Slice {
  readonly id: string
  /** The budgets that it is held in, as they stood before. */
  readonly budgets: readonly BudgetState[]
  readonly bornMs: number
  /** False once no other call may be drawn from it. */
  readonly isOpen: boolean
  /** Pico-dollars that calls at work may cost at most. */
  readonly held: bigint
  /** Holds a call, unless there is no room for it. */
  draw(pico: bigint): boolean
  /** A call that was drawn has ended, and has cost so much. Its row is in the ledger's hands. */
  spent(drawn: bigint, costUsd: string | null | undefined): void
  /** Ends it for other calls, and gives back what those at work do not need. */
  close(): void
}

/** What nobody has drawn from for so long is given back. */
const idleMs = 100

interface Made {
  readonly id: string
  readonly amount: bigint
  readonly budgets: readonly BudgetState[]
  /** Monotonic. */
  readonly nowMs: () => number
  readonly giveBack: Usage['giveBack']
  /** Told what a call has cost, in pico-dollars. */
  readonly onSpent: (cost: bigint) => void
  /** Told when all its calls have ended. */
  readonly onOver: () => void
}

/** A slice of `amount` pico-dollars that was reserved under its id. */
export function createSlice({ id, amount, budgets, nowMs, giveBack, onSpent, onOver }: Made): Slice {
  let room = amount
  let held = 0n
  let calls = 0
  let isOpen = true

  let looking: NodeJS.Timeout | undefined
  let endedMs = nowMs()

  /** One timer for all ends in its time. */
  const look = (): void => {
    looking = undefined
    if (!isOpen || calls > 0) return
    if (nowMs() - endedMs < idleMs) looking = setTimeout(look, idleMs).unref()
    else close()
  }

  const leave = (): void => {
    if (calls === 0) onOver()
    if (calls > 0 && room <= 0n) return
    giveBack({ id, backUsd: usdOf(room > 0n ? room : 0n), isOver: calls === 0 })
    room = 0n
  }

  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(looking)
    leave()
  }

  return {
    id,
    budgets,
    bornMs: nowMs(),
    get isOpen() {
      return isOpen
    },
    get held() {
      return held
    },
    draw(pico) {
      if (!isOpen || room < pico) return false
      room -= pico
      held += pico
      calls++
      return true
    },
    spent(drawn, costUsd) {
      const cost = picoDollarsOf(costUsd ?? '0')
      room += drawn - cost
      held -= drawn
      calls--
      onSpent(cost)
      if (!isOpen) leave()
      else if (calls === 0) {
        endedMs = nowMs()
        looking ??= setTimeout(look, idleMs).unref()
      }
    },
    close,
  }
}

/** What budgets have left, in pico-dollars; undefined: money is not limited. */
export function leftIn(budgets: readonly BudgetState[]): bigint | undefined {
  let least: bigint | undefined
  for (const { max_usd, spent_usd, reserved_usd } of budgets) {
    if (max_usd === null) continue
    const left = picoDollarsOf(max_usd) - picoDollarsOf(spent_usd) - picoDollarsOf(reserved_usd)
    if (least === undefined || left < least) least = left
  }
  return least
}

/** Limits a minute or at a time are counted call by call, never in slices. */
export const hasOnlyMoney = (budgets: readonly BudgetState[]): boolean =>
  budgets.length > 0 &&
  budgets.every(
    ({ rpm_limit, tpm_limit, max_parallel }) => rpm_limit === null && tpm_limit === null && max_parallel === null,
  )
