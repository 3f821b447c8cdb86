import { AppError } from '../platform/errors.ts'
import type { BudgetState } from './reservation-store.ts'

/** A limit per minute. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Seconds until the next minute begins. */
  readonly resetSeconds: number
}

/** Remaining requests and tokens of this minute. A member is absent if there is no such limit. */
export interface RateLimits {
  readonly requests?: RateLimit
  readonly tokens?: RateLimit
}

/** Requests and tokens of the current call. */
interface Reserved {
  readonly requests: number
  readonly tokens: number
}

const nothing: Reserved = { requests: 0, tokens: 0 }

/**
 * Returns the limits of the budgets after the use of the current call; of several budgets the one with the least
 * remaining. Undefined if none limits requests or tokens.
 */
export function rateLimitsOf(budgets: readonly BudgetState[], reserved: Reserved = nothing): RateLimits | undefined {
  const requests = tightest(budgets, ({ rpm_limit, requests: used }) => [rpm_limit, used + reserved.requests])
  const tokens = tightest(budgets, ({ tpm_limit, tokens: used }) => [tpm_limit, used + reserved.tokens])
  return requests || tokens ? { ...(requests && { requests }), ...(tokens && { tokens }) } : undefined
}

function tightest(
  budgets: readonly BudgetState[],
  read: (budget: BudgetState) => readonly [limit: number | null, used: number],
): RateLimit | undefined {
  const limits = budgets.flatMap(budget => {
    const [limit, used] = read(budget)
    return limit === null ? [] : [{ limit, remaining: Math.max(0, limit - used), resetSeconds: budget.window_rest_s }]
  })
  return limits.sort((a, b) => a.remaining - b.remaining)[0]
}

/** Error for a call that reached a limit on requests, tokens or concurrent calls. */
export class RateLimitReached extends AppError {
  readonly limits: RateLimits | undefined

  constructor({ message, headers }: AppError, limits: RateLimits | undefined) {
    super('rate_limited', message, { headers })
    this.name = 'RateLimitReached'
    this.limits = limits
  }
}
