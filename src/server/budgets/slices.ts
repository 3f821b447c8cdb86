import { newId } from '../platform/ids.ts'
import { every } from '../platform/timers.ts'
import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import type { Usage } from '../usage/usage.ts'
import type { Asked, BudgetState, Verdict } from './reservation-store.ts'
import { createSlice, hasOnlyMoney, leftIn, type Slice } from './slice.ts'
import type { BudgetName, Payers } from './store.ts'

/** A call that is held in a slice. */
export interface Drawn {
  readonly slice: Slice
  /** Pico-dollars that it may cost at most; 0 for what is not held. */
  readonly pico: bigint
}

/** A call that asks to be held. */
export interface Call extends Pick<Asked, 'payers' | 'isHeld'> {
  /** US dollars as an exact decimal; null: nobody can tell. */
  readonly amountUsd: string | null
  /** Who makes it, for the ledger. */
  readonly principal: string
}

/** Slices of the budgets that are asked for again and again: their calls are admitted in memory. Decision 0015. */
export interface Slices {
  /** Holds a call in a slice; undefined for one that has to be held by itself. */
  draw(call: Call): Drawn | undefined | Promise<Drawn | undefined>
  /** Tells what a call that was held by itself has found. */
  saw(payers: Payers, verdict: Verdict): void
  /** Gives back what is idle in any of these budgets; for a second nothing more is taken from them. */
  giveBack(names: readonly Pick<BudgetName, 'scope' | 'scope_id'>[]): void
  /** The limits of a budget have changed, as `scope:scope_id`. */
  changed(name: string): void
  /** Gives back what is idle everywhere: changes may have been missed. */
  clear(): void
  /** Those that have to be renewed. */
  live(): readonly string[]
  start(): void
  stop(): Promise<void>
}

interface Deps {
  readonly reserve: (asked: Asked) => Promise<Verdict>
  readonly usage: Pick<Usage, 'giveBack' | 'release'>
  /** Monotonic. */
  readonly nowMs: () => number
}

interface Waiting {
  readonly call: Call
  readonly pico: bigint
  readonly resolve: (drawn: Drawn | undefined) => void
}

/** All calls with the same payers: the same budgets limit them. */
interface Party {
  readonly payers: Payers
  /** Calls since `sinceMs`, which is at most a second ago when a call comes. */
  calls: number
  /** Pico-dollars that calls from slices have cost since then, and in the time before it. */
  spent: bigint
  spentBefore: bigint
  sinceMs: number
  /** The budgets as they stood when the database was asked last; undefined before. */
  budgets: readonly BudgetState[] | undefined
  slice: Slice | undefined
  waiting: Waiting[]
  isAsking: boolean
  /** Until then calls are held by themselves: somebody needs all that there is. */
  tightUntilMs: number
}

/** Payers with fewer calls in a second have each held by itself. */
const manyCalls = 8
const secondMs = 1_000
/** What the database knows better is never older: changes whose hint was lost, keys that have expired. */
const lifeMs = 5_000
/** A slice holds so many times what the calls at work may cost besides what was spent in a second, and at most so small a part of what is left. */
const times = 2n
const partOfRest = 4n
const sweepMs = 1_000

export function createSlices({ reserve, usage, nowMs }: Deps): Slices {
  const parties = new Map<string, Party>()
  const live = new Set<string>()
  /** Counts what was closed: a slice that was asked for before that is not used. */
  let changes = 0
  let stopTimer: (() => Promise<void>) | undefined

  const partyOf = (payers: Payers): Party => {
    const name = `${payers.key}\n${payers.owner}\n${payers.agent}\n${payers.session}`
    const known = parties.get(name)
    if (known) return known
    const party: Party = {
      payers,
      calls: 0,
      spent: 0n,
      spentBefore: 0n,
      sinceMs: nowMs(),
      budgets: undefined,
      slice: undefined,
      waiting: [],
      isAsking: false,
      tightUntilMs: 0,
    }
    parties.set(name, party)
    return party
  }

  const count = (party: Party): void => {
    const now = nowMs()
    if (now - party.sinceMs > secondMs) {
      const wasBusy = party.calls > manyCalls && now - party.sinceMs < 2 * secondMs
      party.calls = wasBusy ? manyCalls : 0
      party.spentBefore = wasBusy ? party.spent : 0n
      party.spent = 0n
      party.sinceMs = now
    }
    party.calls++
  }

  const isBusy = ({ calls, budgets, tightUntilMs }: Party): boolean =>
    calls > manyCalls && budgets !== undefined && hasOnlyMoney(budgets) && nowMs() >= tightUntilMs

  const drawFrom = (slice: Slice | undefined, pico: bigint): Drawn | undefined => {
    if (!slice?.isOpen) return undefined
    if (nowMs() - slice.bornMs < lifeMs) return slice.draw(pico) ? { slice, pico } : undefined
    slice.close()
    return undefined
  }

  /** Takes a slice for those who wait; undefined where there is too little left, or nothing to be held. */
  const take = async (party: Party): Promise<Slice | undefined> => {
    const { payers, waiting, slice: before, budgets = [] } = party
    const [first] = waiting
    if (!first) return undefined
    const asked = waiting.reduce((sum, { pico }) => sum + pico, before?.held ?? 0n)
    const left = leftIn(budgets)
    const lately = party.spent > party.spentBefore ? party.spent : party.spentBefore
    const wanted = asked * times + lately
    const most = left === undefined ? wanted : left / partOfRest
    const amount = wanted < most ? wanted : most
    if (amount < first.pico * times) return undefined
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
      isHeld: true,
      facts,
    }).catch(() => {
      // It may be held all the same. Those who wait are told why it failed when they ask for themselves.
      usage.release(id)
      return undefined
    })
    if (!verdict?.is_admitted) return undefined
    party.budgets = verdict.budgets.map(budget => ({
      ...budget,
      reserved_usd: usdOf(picoDollarsOf(budget.reserved_usd) + amount),
    }))
    if (!hasOnlyMoney(verdict.budgets)) {
      usage.release(id)
      return undefined
    }
    live.add(id)
    return createSlice({
      id,
      amount,
      budgets: verdict.budgets,
      nowMs,
      giveBack: usage.giveBack,
      onSpent: cost => {
        party.spent += cost
      },
      onOver: () => live.delete(id),
    })
  }

  /** Serves those who wait, in their order, from one slice after the other. */
  const serve = async (party: Party): Promise<void> => {
    party.isAsking = true
    while (party.waiting.length > 0) {
      const asOf = changes
      const slice = await take(party)
      if (asOf !== changes) slice?.close()
      if (!slice?.isOpen) {
        party.tightUntilMs = nowMs() + secondMs
        break
      }
      party.slice?.close()
      party.slice = slice
      let first = party.waiting[0]
      while (first && slice.draw(first.pico)) {
        first.resolve({ slice, pico: first.pico })
        party.waiting.shift()
        first = party.waiting[0]
      }
    }
    party.isAsking = false
    const left = party.waiting
    party.waiting = []
    for (const { resolve } of left) resolve(undefined)
  }

  const closeThose = (isMeant: (party: Party) => boolean): void => {
    changes++
    for (const party of parties.values()) {
      if (!isMeant(party)) continue
      party.slice?.close()
      party.slice = undefined
    }
  }

  const sweep = async (): Promise<void> => {
    const now = nowMs()
    for (const [name, party] of parties) {
      if (party.slice && now - party.slice.bornMs >= lifeMs) party.slice.close()
      if (!party.slice?.isOpen) party.slice = undefined
      if (!party.slice && !party.isAsking && now - party.sinceMs > secondMs) parties.delete(name)
    }
  }

  return {
    draw(call) {
      const { payers, amountUsd, isHeld } = call
      if (amountUsd === null) return undefined
      const party = partyOf(payers)
      count(party)
      const pico = isHeld ? picoDollarsOf(amountUsd) : 0n
      const drawn = party.waiting.length === 0 ? drawFrom(party.slice, pico) : undefined
      if (drawn) return drawn
      if (!isHeld || !isBusy(party)) return undefined
      return new Promise(resolve => {
        party.waiting.push({ call, pico, resolve })
        if (!party.isAsking) void serve(party)
      })
    },
    saw(payers, { is_admitted, budgets }) {
      const party = partyOf(payers)
      party.budgets = budgets
      if (!is_admitted) party.tightUntilMs = nowMs() + secondMs
    },
    giveBack(names) {
      const wanted = new Set(names.map(({ scope, scope_id }) => `${scope}:${scope_id}`))
      const isMeant = ({ budgets = [] }: Party) =>
        budgets.some(({ scope, scope_id }) => wanted.has(`${scope}:${scope_id}`))
      for (const party of parties.values()) if (isMeant(party)) party.tightUntilMs = nowMs() + secondMs
      closeThose(isMeant)
    },
    changed(name) {
      // A key's budget limits its descendants as well, which are not known here.
      const isOfKey = name.startsWith('key:')
      closeThose(({ payers }) => isOfKey || namesOf(payers).includes(name))
    },
    clear: () => closeThose(() => true),
    live: () => [...live],
    start() {
      stopTimer = every(sweepMs, sweep)
    },
    async stop() {
      await stopTimer?.()
      closeThose(() => true)
    },
  }
}

const namesOf = (payers: Payers): readonly string[] =>
  Object.entries(payers).flatMap(([scope, id]) => (id === undefined ? [] : [`${scope}:${id}`]))
