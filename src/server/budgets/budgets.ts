import type { Notifications } from '../db/notifications.ts'
import { DatabaseUnavailable } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { UsageRow } from '../usage/store.ts'
import type { Usage } from '../usage/usage.ts'
import { LimitedBudgets } from './limited-budgets.ts'
import { type RateLimits, rateLimitsOf } from './rate-limits.ts'
import { mayBeFreed, refusalOf, type Wanted } from './refusal.ts'
import type { BudgetState, ReservationStore, Verdict } from './reservation-store.ts'
import { createSlices, type Drawn } from './slices.ts'
import { type BudgetStore, budgetChannel, type Payers } from './store.ts'

export type { RateLimit, RateLimitReached, RateLimits } from './rate-limits.ts'

/** A call that asks to be held in every budget that limits it. */
export interface HoldRequest extends Wanted {
  readonly requestId: string
  readonly payers: Payers
  /** False for what costs nothing and is over at once: it only counts as a request. */
  readonly isHeld: boolean
  /** Who makes the call, for the ledger. */
  readonly principal: string
  /** Returns the ledger row of a call whose process exits before it ends. Only a reservation of its own needs one. */
  readonly lost: () => UsageRow
}

/** What is held for a call at work, by itself or in a slice. It is renewed until one of its two methods is called. */
export interface Hold {
  /** The slice that it is held in; undefined: it is held by itself. */
  readonly sliceId: string | undefined
  /** US dollars as an exact decimal. */
  readonly amountUsd: string
  /** True when money is limited, not only requests or tokens. */
  readonly isBudgeted: boolean
  /** What to tell the caller of soft limits that are reached; undefined while there is none. */
  readonly warning: string | undefined
  /** What is left of the limits for each minute; absent where there is none. */
  readonly rateLimits?: RateLimits | undefined
  /** The call's row is in the ledger's hands, and takes what is held along. */
  settled(row: Pick<UsageRow, 'cost_usd'>): void
  /** No upstream was called: everything is given back. Nothing happens once it is settled. */
  release(): void
}

/** Lets calls begin only while their budgets have room for the worst case. Source: Gateway, section 4. */
export interface Budgets {
  /** True when an owner, an agent or a session limits the call. Rejects with `unavailable`. */
  isLimited(payers: Payers): boolean | Promise<boolean>
  /**
   * Returns at once what a slice admits. Rejects with `budget_exceeded`, `rate_limited`, `unauthorized`, `unavailable`, or why the
   * call cannot be bounded.
   */
  hold(request: HoldRequest): Hold | Promise<Hold>
  /** Begins to renew what is held here, and to end what other processes have left behind. */
  start(): void
  stop(): Promise<void>
}

interface Deps {
  readonly store: Pick<BudgetStore, 'limited'>
  readonly reservations: ReservationStore
  readonly usage: Pick<Usage, 'release' | 'giveBack' | 'flush' | 'bookNow' | 'onSoftLimit'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect' | 'send'>
  readonly log: Pick<Log, 'debug' | 'warn'>
  /** How long a reservation lives without a renewal. */
  readonly lifetimeMs: number
  /** Monotonic. */
  readonly nowMs: () => number
}

const longestSweepMs = 5_000
const mostOrphans = 200
/** Another process settles a call, or gives back what is idle, within this: a refusal waits once for what may be coming back. */
const settlingMs = 60
/** Asks all processes to give back what is idle in budgets. The payload is a list of `{scope, scope_id}`. */
const needChannel = 'budgets_needed'
const sliceIds = 'slice_'

/** Create it before the notifications start. */
export function createBudgets(deps: Deps): Budgets {
  const { reservations, usage, notifications, log, lifetimeMs } = deps
  const limited = new LimitedBudgets({ load: deps.store.limited, nowMs: deps.nowMs })
  const slices = createSlices({ reserve: reservations.reserve, usage, nowMs: deps.nowMs })
  const live = new Set<string>()
  let timers: (() => Promise<void>)[] = []

  notifications.on(budgetChannel, name => {
    limited.forget(name)
    slices.changed(name)
  })
  // Callers are told of it.
  usage.onSoftLimit(({ scope, scope_id }) => slices.changed(`${scope}:${scope_id}`))
  notifications.on(needChannel, names => slices.giveBack(JSON.parse(names)))
  notifications.onReconnect(() => {
    limited.clear()
    slices.clear()
  })

  const ask = async ({ requestId, payers, amountUsd, tokens, isHeld, lost }: HoldRequest): Promise<Verdict> => {
    try {
      const asked = { request_id: requestId, payers, amount_usd: amountUsd, tokens, isHeld, facts: lost() }
      return await reservations.reserve(asked)
    } catch (error) {
      // It may be held all the same, and no call will ever settle it.
      if (isHeld && !wasNeverSent(error)) usage.release(requestId)
      throw error
    }
  }

  /**
   * A refusal must not come from what is used no more: calls that have just ended may not be settled yet, and slices hold
   * more than the calls in them.
   */
  const verdictOn = async (request: HoldRequest): Promise<Verdict> => {
    const first = await ask(request)
    if (first.is_admitted || !mayBeFreed(first)) return first
    const full = first.budgets.flatMap(({ has_money, scope, scope_id }) => (has_money ? [] : [{ scope, scope_id }]))
    slices.giveBack(full)
    await usage.flush()
    const second = await ask(request)
    if (second.is_admitted || !mayBeFreed(second)) return second
    if (full.length > 0) notifications.send(needChannel, JSON.stringify(full))
    await pause(settlingMs)
    return ask(request)
  }

  const holdAlone = async (request: HoldRequest): Promise<Hold> => {
    const verdict = await verdictOn(request)
    slices.saw(request.payers, verdict)
    if (!verdict.is_admitted) throw refusalOf(verdict, request)
    const { requestId } = request
    // No budget has a limit any more: there is nothing to give back.
    if (request.isHeld && verdict.budgets.length > 0) live.add(requestId)
    return {
      sliceId: undefined,
      amountUsd: request.amountUsd ?? '0',
      isBudgeted: verdict.budgets.some(({ max_usd }) => max_usd !== null),
      warning: warningOf(verdict.budgets),
      rateLimits: rateLimitsOf(verdict.budgets, { requests: 1, tokens: request.tokens ?? 0 }),
      settled: () => void live.delete(requestId),
      release: () => void (live.delete(requestId) && usage.release(requestId)),
    }
  }

  const renew = async (): Promise<void> => {
    const ids = [...live, ...slices.live()]
    if (ids.length === 0) return
    await reservations.renew(ids).catch(cause => log.debug({ err: cause }, 'reservations will be renewed later'))
  }

  /** Ends calls whose process has ended: what was held for them counts as spent. */
  const sweep = async (): Promise<void> => {
    try {
      const orphans = await reservations.orphans(mostOrphans)
      if (orphans.length === 0) return
      const { slice = [], call = [] } = Object.groupBy(orphans, ({ request_id }) =>
        request_id.startsWith(sliceIds) ? 'slice' : 'call',
      )
      await usage.bookNow({
        rows: call.map(({ facts }) => facts as unknown as UsageRow),
        shares: slice.map(({ request_id: id }) => ({ id, backUsd: '0', isOver: true, isLost: true })),
      })
      log.warn({ calls: orphans.length }, 'calls were lost with their process; what was held for them counts as spent')
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for lost calls; the next look will')
    }
  }

  return {
    isLimited: payers => limited.isAny(payers),
    hold(request) {
      const drawn = slices.draw(request)
      if (!(drawn instanceof Promise)) return drawn ? holdIn(drawn, request) : holdAlone(request)
      return drawn.then(later => (later ? holdIn(later, request) : holdAlone(request)))
    },
    start() {
      slices.start()
      timers = [every(lifetimeMs / 3, renew), every(Math.min(longestSweepMs, lifetimeMs / 3), sweep)]
    },
    async stop() {
      await Promise.all(timers.map(stopTimer => stopTimer()))
      await slices.stop()
    },
  }
}

function holdIn({ slice, pico }: Drawn, { amountUsd }: HoldRequest): Hold {
  let isOver = false
  const end = (costUsd: string | null | undefined): void => {
    if (!isOver) slice.spent(pico, costUsd)
    isOver = true
  }
  return {
    sliceId: slice.id,
    amountUsd: amountUsd ?? '0',
    isBudgeted: slice.budgets.some(({ max_usd }) => max_usd !== null),
    warning: warningOf(slice.budgets),
    settled: ({ cost_usd }) => end(cost_usd),
    release: () => end('0'),
  }
}

/** Without a connection nothing can have been held; while the database is away there are many of these. */
function wasNeverSent(thrown: unknown): boolean {
  const error = thrown instanceof DatabaseUnavailable ? thrown.cause : thrown
  if (!(error instanceof Error)) return false
  return ('syscall' in error && error.syscall === 'connect') || error.message.includes('when trying to connect')
}

/** `key: spent=8.5, soft_budget=8, max_budget=10, resets_at=2026-08-01T00:00:00.000Z`; several after a semicolon. */
function warningOf(budgets: readonly BudgetState[]): string | undefined {
  const warned = budgets.filter(({ is_warned }) => is_warned)
  if (warned.length === 0) return undefined
  const told = warned.map(({ scope, spent_usd, soft_usd, max_usd, reset_at }) => {
    const fields = [
      `spent=${spent_usd}`,
      `soft_budget=${soft_usd}`,
      ...(max_usd === null ? [] : [`max_budget=${max_usd}`]),
      ...(reset_at === null ? [] : [`resets_at=${new Date(reset_at).toISOString()}`]),
    ]
    // No id: those of owners are any text, and no header could carry it.
    return `${scope}: ${fields.join(', ')}`
  })
  return told.join('; ')
}
