import type { Notifications } from '../db/notifications.ts'
import { DatabaseUnavailable } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { UsageRow } from '../usage/store.ts'
import type { Usage } from '../usage/usage.ts'
import { LimitedBudgets } from './limited-budgets.ts'
import { type RateLimits, rateLimitsOf } from './rate-limits.ts'
import { type CallBounds, mayBeFreed, rejectionOf } from './rejection.ts'
import type { BudgetState, ReservationStore, ReserveCall, Verdict } from './reservation-store.ts'
import { createSlices, type SliceDraw } from './slices.ts'
import { type BudgetStore, budgetChannel, type Payers } from './store.ts'

export type { RateLimit, RateLimitReached, RateLimits } from './rate-limits.ts'

/** Request to reserve the maximum cost of a call in every budget that limits it. */
export interface ReservationRequest extends CallBounds {
  readonly requestId: string
  readonly payers: Payers
  /** False for free calls that end at once, such as token counts: they only count as a request. */
  readonly isReserved: boolean
  /** Principal that makes the call, for the ledger. */
  readonly principal: string
  /** True for a call that may last longer than its process: it gets a separate reservation, which `keep` extends. */
  readonly mayOutlast?: boolean
  /**
   * Returns the ledger row for the case that this process exits before the call ends. Calls drawn from a slice need
   * none.
   */
  readonly orphanRow: () => UsageRow
}

/** Reservation of a call in flight: separate, or drawn from a slice. Renewed until `settled` or `release` is called. */
export interface Reservation {
  /** Slice that the call is drawn from; undefined for a separate reservation. */
  readonly sliceId: string | undefined
  /** US dollars as an exact decimal. */
  readonly amountUsd: string
  /** True when money is limited, not only requests or tokens. */
  readonly isBudgeted: boolean
  /** True when the number of concurrent calls is limited. */
  readonly isParallelLimited: boolean
  /** Text for the caller about soft limits that are reached; undefined if there are none. */
  readonly warning: string | undefined
  /** Remaining requests and tokens of this minute; absent without such limits. */
  readonly rateLimits?: RateLimits | undefined
  /** Must be called once the row was passed to the ledger: booking the row ends the reservation. */
  settled(row: Pick<UsageRow, 'cost_usd'>): void
  /** Releases everything, for calls that never reached an upstream. No effect once settled. */
  release(): void
}

/** Admits calls only while their budgets have room for the maximum cost. Source: Gateway, section 4. */
export interface Budgets {
  /** True when an owner, an agent or a session limits the call. Rejects with `unavailable`. */
  isLimited(payers: Payers): boolean | Promise<boolean>
  /**
   * Returns a reservation, synchronously if drawn from a slice. Rejects with `budget_exceeded`, `rate_limited`,
   * `unauthorized`, `unavailable`, or with the reason why the cost of the call has no known maximum.
   */
  reserve(request: ReservationRequest): Reservation | Promise<Reservation>
  /**
   * Rejects a call that may wait for its turn, and that budgets of money would reject now. Rate limits are not checked,
   * and nothing is reserved.
   */
  requireMoney(request: ReservationRequest): Promise<void>
  /** Extends separate reservations to `until`. This process no longer renews them, and any may settle or release them. */
  keep(requestIds: readonly string[], until: Date): Promise<void>
  /** Releases separate reservations, also those that another process has made. Ids without one are skipped. */
  releaseAll(requestIds: readonly string[]): Promise<void>
  /** Starts to renew this process's reservations and to sweep those of exited processes. */
  start(): void
  stop(): Promise<void>
}

interface Deps {
  readonly store: Pick<BudgetStore, 'limited'>
  readonly reservations: ReservationStore
  readonly usage: Pick<Usage, 'release' | 'releaseShare' | 'flush' | 'bookNow' | 'onSoftLimit'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect' | 'send'>
  readonly log: Pick<Log, 'debug' | 'warn'>
  /** Time until a reservation expires without renewal. */
  readonly lifetimeMs: number
  /** Monotonic. */
  readonly nowMs: () => number
}

const maxSweepMs = 5_000
const maxOrphans = 200
/**
 * Before it is rejected, a reservation waits this long for other processes to settle calls and release idle amounts, and
 * longer once more: where the processors or the database are busy, the first time is too short.
 */
const settlingMs = [60, 240]
/** Asks all processes to release idle amounts of these budgets. The payload is a list of `{scope, scope_id}`. */
const needChannel = 'budgets_needed'
const slicePrefix = 'slice_'

/** Must be called before the notifications start, so that it misses none. */
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
  // A slice keeps the warning that it started with: later calls must report the soft limit.
  usage.onSoftLimit(({ scope, scope_id }) => slices.changed(`${scope}:${scope_id}`))
  notifications.on(needChannel, names => slices.releaseIdle(JSON.parse(names)))
  notifications.onReconnect(() => {
    limited.clear()
    slices.clear()
  })

  const tryReserve = async (request: ReservationRequest): Promise<Verdict> => {
    const { requestId, isReserved } = request
    try {
      return await reservations.reserve(callOf(request))
    } catch (error) {
      // The reservation may exist although the query failed, and no call will settle it.
      if (isReserved && !wasNeverSent(error)) usage.release(requestId)
      throw error
    }
  }

  /**
   * Retries before a call is rejected: ended calls may not be settled yet, and slices reserve more than their calls
   * need. The first retry follows a flush of this process, the others a request to all processes.
   */
  const withRetry = async (request: ReservationRequest, tryOnce: typeof tryReserve): Promise<Verdict> => {
    const isFinal = (verdict: Verdict): boolean => verdict.is_admitted || !mayBeFreed(verdict)
    const first = await tryOnce(request)
    if (isFinal(first)) return first
    const full = first.budgets.flatMap(({ has_money, scope, scope_id }) => (has_money ? [] : [{ scope, scope_id }]))
    slices.releaseIdle(full)
    await usage.flush()
    let last = await tryOnce(request)
    if (full.length > 0 && !isFinal(last)) notifications.send(needChannel, JSON.stringify(full))
    for (const ms of settlingMs) {
      if (isFinal(last)) return last
      await pause(ms)
      last = await tryOnce(request)
    }
    return last
  }

  const reserveAlone = async (request: ReservationRequest): Promise<Reservation> => {
    const verdict = await withRetry(request, tryReserve)
    slices.observe(request.payers, verdict)
    if (!verdict.is_admitted) throw rejectionOf(verdict, request)
    const { requestId } = request
    // Without a limit the database made no reservation.
    if (request.isReserved && verdict.budgets.length > 0) live.add(requestId)
    return {
      sliceId: undefined,
      amountUsd: request.amountUsd ?? '0',
      isBudgeted: verdict.budgets.some(({ max_usd }) => max_usd !== null),
      isParallelLimited: verdict.budgets.some(({ max_parallel }) => max_parallel !== null),
      warning: warningOf(verdict.budgets),
      rateLimits: rateLimitsOf(verdict.budgets, { requests: 1, tokens: request.tokens ?? 0 }),
      settled: () => void live.delete(requestId),
      release: () => void (live.delete(requestId) && usage.release(requestId)),
    }
  }

  const renew = async (): Promise<void> => {
    const ids = [...live, ...slices.live()]
    if (ids.length === 0) return
    await reservations.renew(ids).catch(cause => log.debug({ err: cause }, 'cannot renew reservations; retrying'))
  }

  /** Ends expired reservations, whose processes exited; their amounts count as spent. */
  const sweep = async (): Promise<void> => {
    try {
      const orphans = await reservations.orphans(maxOrphans)
      if (orphans.length === 0) return
      const { slice = [], call = [] } = Object.groupBy(orphans, ({ request_id }) =>
        request_id.startsWith(slicePrefix) ? 'slice' : 'call',
      )
      await usage.bookNow({
        rows: call.map(({ facts }) => facts as unknown as UsageRow),
        shares: slice.map(({ request_id: id }) => ({ id, unusedUsd: '0', isOver: true, isLost: true })),
      })
      log.warn({ calls: orphans.length }, 'released reservations of an exited process; their amounts count as spent')
    } catch (cause) {
      log.debug({ err: cause }, 'cannot find calls of exited processes; retrying in the next sweep')
    }
  }

  return {
    isLimited: payers => limited.isAny(payers),
    reserve(request) {
      if (request.mayOutlast) return reserveAlone(request)
      const drawn = slices.draw(request)
      if (!(drawn instanceof Promise)) return drawn ? reservationIn(drawn, request) : reserveAlone(request)
      return drawn.then(later => (later ? reservationIn(later, request) : reserveAlone(request)))
    },
    async requireMoney(request) {
      const verdict = await withRetry(request, async given => moneyOf(await reservations.wouldReserve(callOf(given))))
      if (!verdict.is_admitted) throw rejectionOf(verdict, request)
    },
    async keep(requestIds, until) {
      if (requestIds.length > 0) await reservations.extend(requestIds, until)
      for (const id of requestIds) live.delete(id)
    },
    async releaseAll(requestIds) {
      for (const id of requestIds) live.delete(id)
      if (requestIds.length > 0) await usage.bookNow({ rows: [], shares: [], released: requestIds })
    },
    start() {
      slices.start()
      timers = [every(lifetimeMs / 3, renew), every(Math.min(maxSweepMs, lifetimeMs / 3), sweep)]
    },
    async stop() {
      await Promise.all(timers.map(stopTimer => stopTimer()))
      await slices.stop()
    },
  }
}

const callOf = ({ requestId, payers, amountUsd, tokens, isReserved, orphanRow }: ReservationRequest): ReserveCall => ({
  request_id: requestId,
  payers,
  amount_usd: amountUsd,
  tokens,
  isReserved,
  facts: orphanRow(),
})

/** Returns the verdict without rate limits. */
function moneyOf({ is_key_valid, budgets }: Verdict): Verdict {
  const without = budgets.map(budget => ({ ...budget, has_requests: true, has_tokens: true, has_slot: true }))
  return { is_key_valid, is_admitted: is_key_valid && without.every(({ has_money }) => has_money), budgets: without }
}

function reservationIn({ slice, pico }: SliceDraw, { amountUsd }: ReservationRequest): Reservation {
  let isOver = false
  const end = (costUsd: string | null | undefined): void => {
    if (!isOver) slice.spent(pico, costUsd)
    isOver = true
  }
  return {
    sliceId: slice.id,
    amountUsd: amountUsd ?? '0',
    isBudgeted: slice.budgets.some(({ max_usd }) => max_usd !== null),
    isParallelLimited: slice.budgets.some(({ max_parallel }) => max_parallel !== null),
    warning: warningOf(slice.budgets),
    settled: ({ cost_usd }) => end(cost_usd),
    release: () => end('0'),
  }
}

/**
 * True if the statement never reached the database, so that there is no reservation to release. Frequent in outages.
 */
function wasNeverSent(thrown: unknown): boolean {
  const error = thrown instanceof DatabaseUnavailable ? thrown.cause : thrown
  if (!(error instanceof Error)) return false
  return ('syscall' in error && error.syscall === 'connect') || error.message.includes('when trying to connect')
}

/** `key: spent=8.5, soft_budget=8, max_budget=10, resets_at=2026-08-01T00:00:00.000Z`; separated by `; `. */
function warningOf(budgets: readonly BudgetState[]): string | undefined {
  const warned = budgets.filter(({ is_warned }) => is_warned)
  if (warned.length === 0) return undefined
  const warnings = warned.map(({ scope, spent_usd, soft_usd, max_usd, reset_at }) => {
    const fields = [
      `spent=${spent_usd}`,
      `soft_budget=${soft_usd}`,
      ...(max_usd === null ? [] : [`max_budget=${max_usd}`]),
      ...(reset_at === null ? [] : [`resets_at=${new Date(reset_at).toISOString()}`]),
    ]
    // Without scope_id: owner ids may contain characters that a header cannot carry.
    return `${scope}: ${fields.join(', ')}`
  })
  return warnings.join('; ')
}
