import { newId } from '../platform/ids.ts'
import { every } from '../platform/timers.ts'
import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import type { Usage } from '../usage/usage.ts'
import type { BudgetState, ReserveCall, Verdict } from './reservation-store.ts'
import { createSlice, limitsOnlyMoney, remainingIn, type Slice } from './slice.ts'
import type { BudgetName, Payers } from './store.ts'

/** Amount of a call that was drawn from a slice. */
export interface SliceDraw {
  readonly slice: Slice
  /** Maximum cost of the call in pico-dollars; 0 for calls without a reservation. */
  readonly pico: bigint
}

/** A call to admit. */
export interface Call extends Pick<ReserveCall, 'payers' | 'isReserved'> {
  /** Maximum cost in US dollars as an exact decimal; null if unknown. */
  readonly amountUsd: string | null
  /** Principal that makes the call, for the ledger. */
  readonly principal: string
}

/** Slices of frequently used budgets, from which calls are admitted in memory. Decision 0015. */
export interface Slices {
  /** Draws a call from a slice; undefined if the call needs a separate reservation. */
  draw(call: Call): SliceDraw | undefined | Promise<SliceDraw | undefined>
  /** Stores the budget states that a separate reservation returned. */
  observe(payers: Payers, verdict: Verdict): void
  /** Closes the slices of these budgets; for 1 s none are reserved in them. */
  releaseIdle(names: readonly Pick<BudgetName, 'scope' | 'scope_id'>[]): void
  /** Closes the slices of a budget whose limits have changed, as `scope:scope_id`. */
  changed(name: string): void
  /** Closes all slices, for when notifications may have been missed. */
  clear(): void
  /** Ids of the slices to renew. */
  live(): readonly string[]
  start(): void
  stop(): Promise<void>
}

interface Deps {
  readonly reserve: (call: ReserveCall) => Promise<Verdict>
  readonly usage: Pick<Usage, 'releaseShare' | 'release'>
  /** Monotonic. */
  readonly nowMs: () => number
}

interface Waiting {
  readonly call: Call
  readonly pico: bigint
  readonly resolve: (drawn: SliceDraw | undefined) => void
}

/** State of one set of payers. The same budgets limit all of its calls. */
interface PayerGroup {
  readonly payers: Payers
  /** Calls since `sinceMs`, which starts again with the first call after 1 s. */
  calls: number
  /** Cost of calls from slices in this period and in the previous one, in pico-dollars. */
  spent: bigint
  spentBefore: bigint
  sinceMs: number
  /** Budget states of the latest reservation; undefined before the first. */
  budgets: readonly BudgetState[] | undefined
  slice: Slice | undefined
  waiting: Waiting[]
  isReserving: boolean
  /** Until then each call gets a separate reservation, since the budget is nearly used up. */
  tightUntilMs: number
}

/** Payers get slices above this number of calls per second. */
const busyCalls = 8
const secondMs = 1_000
/** Maximum age of a slice. Bounds the effect of lost notifications and expired keys. */
const maxAgeMs = 5_000
/** Size of a slice: this multiple of the maximum cost of the calls in flight, plus the cost of the last second ... */
const reserveFactor = 2n
/** ... but at most this fraction (1/n) of what the budget has left. */
const shareDivisor = 4n
const sweepMs = 1_000

export function createSlices({ reserve, usage, nowMs }: Deps): Slices {
  const groups = new Map<string, PayerGroup>()
  const live = new Set<string>()
  /** Increments with each close. A slice that was being reserved meanwhile is not used. */
  let changes = 0
  let stopTimer: (() => Promise<void>) | undefined

  const groupOf = (payers: Payers): PayerGroup => {
    const name = `${payers.key}\n${payers.owner}\n${payers.agent}\n${payers.session}`
    const existing = groups.get(name)
    if (existing) return existing
    const group: PayerGroup = {
      payers,
      calls: 0,
      spent: 0n,
      spentBefore: 0n,
      sinceMs: nowMs(),
      budgets: undefined,
      slice: undefined,
      waiting: [],
      isReserving: false,
      tightUntilMs: 0,
    }
    groups.set(name, group)
    return group
  }

  const count = (group: PayerGroup): void => {
    const now = nowMs()
    if (now - group.sinceMs > secondMs) {
      const wasBusy = group.calls > busyCalls && now - group.sinceMs < 2 * secondMs
      group.calls = wasBusy ? busyCalls : 0
      group.spentBefore = wasBusy ? group.spent : 0n
      group.spent = 0n
      group.sinceMs = now
    }
    group.calls++
  }

  const isBusy = ({ calls, budgets, tightUntilMs }: PayerGroup): boolean =>
    calls > busyCalls && budgets !== undefined && limitsOnlyMoney(budgets) && nowMs() >= tightUntilMs

  const drawFrom = (slice: Slice | undefined, pico: bigint): SliceDraw | undefined => {
    if (!slice?.isOpen) return undefined
    if (nowMs() - slice.createdMs < maxAgeMs) return slice.draw(pico) ? { slice, pico } : undefined
    slice.close()
    return undefined
  }

  /** Reserves a slice for the waiting calls; undefined if too little is left. */
  const reserveSlice = async (group: PayerGroup): Promise<Slice | undefined> => {
    const { payers, waiting, slice: before, budgets = [] } = group
    const [first] = waiting
    if (!first) return undefined
    const needed = waiting.reduce((sum, { pico }) => sum + pico, before?.reserved ?? 0n)
    const left = remainingIn(budgets)
    const recentSpend = group.spent > group.spentBefore ? group.spent : group.spentBefore
    const wanted = needed * reserveFactor + recentSpend
    const max = left === undefined ? wanted : left / shareDivisor
    const amount = wanted < max ? wanted : max
    if (amount < first.pico * reserveFactor) return undefined
    const id = newId('slice')
    const { key, owner, agent, session } = payers
    const facts = {
      principal: first.call.principal,
      key_id: key,
      owner_id: owner,
      agent_id: agent,
      session_id: session,
    }
    const verdict = await reserve({
      request_id: id,
      payers,
      amount_usd: usdOf(amount),
      tokens: 0,
      isReserved: true,
      facts,
    }).catch(() => {
      // The reservation may exist although the query failed. The waiting calls get the error from their own
      // reservations.
      usage.release(id)
      return undefined
    })
    if (!verdict?.is_admitted) return undefined
    group.budgets = verdict.budgets.map(budget => ({
      ...budget,
      reserved_usd: usdOf(picoDollarsOf(budget.reserved_usd) + amount),
    }))
    if (!limitsOnlyMoney(verdict.budgets)) {
      usage.release(id)
      return undefined
    }
    live.add(id)
    return createSlice({
      id,
      amount,
      budgets: verdict.budgets,
      nowMs,
      releaseShare: usage.releaseShare,
      onSpent: cost => {
        group.spent += cost
      },
      onOver: () => live.delete(id),
    })
  }

  /** Serves the waiting calls in order, with as many slices as needed. */
  const serve = async (group: PayerGroup): Promise<void> => {
    group.isReserving = true
    while (group.waiting.length > 0) {
      const asOf = changes
      const slice = await reserveSlice(group)
      if (asOf !== changes) slice?.close()
      if (!slice?.isOpen) {
        group.tightUntilMs = nowMs() + secondMs
        break
      }
      group.slice?.close()
      group.slice = slice
      let first = group.waiting[0]
      while (first && slice.draw(first.pico)) {
        first.resolve({ slice, pico: first.pico })
        group.waiting.shift()
        first = group.waiting[0]
      }
    }
    group.isReserving = false
    const left = group.waiting
    group.waiting = []
    for (const { resolve } of left) resolve(undefined)
  }

  const closeWhere = (matches: (group: PayerGroup) => boolean): void => {
    changes++
    for (const group of groups.values()) {
      if (!matches(group)) continue
      group.slice?.close()
      group.slice = undefined
    }
  }

  const sweep = async (): Promise<void> => {
    const now = nowMs()
    for (const [name, group] of groups) {
      if (group.slice && now - group.slice.createdMs >= maxAgeMs) group.slice.close()
      if (!group.slice?.isOpen) group.slice = undefined
      if (!group.slice && !group.isReserving && now - group.sinceMs > secondMs) groups.delete(name)
    }
  }

  return {
    draw(call) {
      const { payers, amountUsd, isReserved } = call
      if (amountUsd === null) return undefined
      const group = groupOf(payers)
      count(group)
      const pico = isReserved ? picoDollarsOf(amountUsd) : 0n
      const drawn = group.waiting.length === 0 ? drawFrom(group.slice, pico) : undefined
      if (drawn) return drawn
      if (!isReserved || !isBusy(group)) return undefined
      return new Promise(resolve => {
        group.waiting.push({ call, pico, resolve })
        if (!group.isReserving) void serve(group)
      })
    },
    observe(payers, { is_admitted, budgets }) {
      const group = groupOf(payers)
      group.budgets = budgets
      if (!is_admitted) group.tightUntilMs = nowMs() + secondMs
    },
    releaseIdle(names) {
      const wanted = new Set(names.map(({ scope, scope_id }) => `${scope}:${scope_id}`))
      const matches = ({ budgets = [] }: PayerGroup) =>
        budgets.some(({ scope, scope_id }) => wanted.has(`${scope}:${scope_id}`))
      for (const group of groups.values()) if (matches(group)) group.tightUntilMs = nowMs() + secondMs
      closeWhere(matches)
    },
    changed(name) {
      // The budget of a key also limits its descendants, and that of a team its keys; both are unknown here.
      const isOfMany = name.startsWith('key:') || name.startsWith('team:')
      closeWhere(({ payers, budgets }) => isOfMany || [...namesOf(payers), ...namesIn(budgets)].includes(name))
    },
    clear: () => closeWhere(() => true),
    live: () => [...live],
    start() {
      stopTimer = every(sweepMs, sweep)
    },
    async stop() {
      await stopTimer?.()
      closeWhere(() => true)
    },
  }
}

/** Those of the sessions above the session are only here. */
const namesIn = (budgets: PayerGroup['budgets'] = []): readonly string[] =>
  budgets.map(({ scope, scope_id }) => `${scope}:${scope_id}`)

const namesOf = (payers: Payers): readonly string[] =>
  Object.entries(payers).flatMap(([scope, id]) => (id === undefined ? [] : [`${scope}:${id}`]))
