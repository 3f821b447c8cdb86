import type { BudgetReached } from '../../contract/events.ts'
import { AppError } from '../platform/errors.ts'
import { RateLimitReached, rateLimitsOf } from './rate-limits.ts'
import type { BudgetState, Verdict } from './reservation-store.ts'

/** Reason why the maximum use of a call is unknown. */
export type UnboundedReason = 'price' | 'output' | 'input' | 'native'

/** Maximum use of a call, for rejection messages. */
export interface CallBounds {
  /** US dollars as an exact decimal; null if unknown. */
  readonly amountUsd: string | null
  /** Null if unknown. */
  readonly tokens: number | null
  /** Absent if both are known. */
  readonly unknown?: UnboundedReason | undefined
  readonly model: string
}

/**
 * Returns the error for a call that was not admitted. It names the first limit reached, in the order requests, tokens,
 * concurrent calls, money. Source: Gateway, section 4.
 */
export function rejectionOf({ is_key_valid, budgets }: Verdict, wanted: CallBounds): AppError {
  if (!is_key_valid) return new AppError('unauthorized', 'unauthorized')
  for (const [isFree, rejectionFor] of checks) {
    const full = budgets.find(budget => !isFree(budget))
    if (!full) continue
    const error = rejectionFor(full, wanted)
    return error.code === 'rate_limited' ? new RateLimitReached(error, rateLimitsOf(budgets)) : error
  }
  return new AppError('internal', 'reservation denied although no budget reports a limit (bug)')
}

type RejectionFor = (budget: BudgetState, wanted: CallBounds) => AppError

const checks: readonly (readonly [isFree: (budget: BudgetState) => boolean, RejectionFor])[] = [
  [({ has_requests }) => has_requests, tooManyRequests],
  [({ has_tokens }) => has_tokens, tooManyTokens],
  [({ has_slot }) => has_slot, tooManyCalls],
  [({ has_money }) => has_money, tooMuchMoney],
]

/** True if a retry may succeed soon, because reservations of calls in flight may be released. */
export const mayBeFreed = ({ is_key_valid, budgets }: Verdict): boolean =>
  is_key_valid &&
  budgets.every(({ has_requests }) => has_requests) &&
  budgets.every(
    ({ has_tokens, has_slot, has_money, parallel }) => (has_tokens && has_slot && has_money) || parallel > 0,
  )

function tooManyRequests(budget: BudgetState): AppError {
  const { rpm_limit, window_rest_s } = budget
  return limited(`${named(budget)} has reached its limit of ${rpm_limit} requests per minute`, window_rest_s)
}

function tooManyTokens(budget: BudgetState, wanted: CallBounds): AppError {
  const { tpm_limit, tokens, window_rest_s } = budget
  if (wanted.tokens === null) return unbounded(budget, wanted)
  const limit = `limit of ${tpm_limit} tokens per minute`
  const needed = `this call may use up to ${wanted.tokens}`
  if (wanted.tokens > (tpm_limit ?? 0))
    return limited(`${named(budget)} has a ${limit}: ${needed}; shorten it or lower max_tokens`, window_rest_s)
  return limited(`${named(budget)} would exceed its ${limit}: ${tokens} used or reserved, ${needed}`, window_rest_s)
}

/** A slot becomes free when any call ends, not at the next minute. */
const slotRetrySeconds = 1

function tooManyCalls(budget: BudgetState): AppError {
  return limited(`${named(budget)} has reached its limit of ${budget.max_parallel} concurrent calls`, slotRetrySeconds)
}

const limited = (message: string, retryAfter: number): AppError =>
  new AppError('rate_limited', `${message}; retry after ${retryAfter} s`, {
    headers: { 'retry-after': String(retryAfter) },
  })

function tooMuchMoney(budget: BudgetState, wanted: CallBounds): AppError {
  const { scope, scope_id, max_usd, duration, spent_usd, reserved_usd, reset_at } = budget
  if (wanted.amountUsd === null) return unbounded(budget, wanted)
  const limit = `${usd(max_usd ?? '0')}${duration === null ? '' : ` per ${duration}`}`
  const used = `${usd(spent_usd)} spent, ${usd(reserved_usd)} reserved for calls in flight`
  const needed = `this call may cost up to ${usd(wanted.amountUsd)}`
  const reset = reset_at === null ? 'the budget is never reset' : `the budget resets at ${time(reset_at)}`
  const cause: BudgetReached = {
    type: 'budget_reached',
    scope,
    scope_id,
    max_usd: max_usd === null ? null : Number(max_usd),
    needed_usd: Number(wanted.amountUsd),
    resets_at: reset_at === null ? null : time(reset_at),
  }
  return new AppError('budget_exceeded', `budget of ${named(budget)} is ${limit}: ${used}, ${needed}; ${reset}`, {
    cause,
    headers: {
      'x-switchyard-budget-scope': scope,
      ...(reset_at !== null && { 'x-switchyard-budget-resets-at': time(reset_at) }),
    },
  })
}

/** Error for a call whose maximum use is unknown: it fails under any limit, used up or not. */
function unbounded(budget: BudgetState, { model, unknown }: CallBounds): AppError {
  const shown = model.slice(0, 200)
  switch (unknown) {
    case 'output':
      return new AppError(
        'invalid_request',
        `max_tokens is required: ${named(budget)} has a limit, and the maximum output of model ${shown} is unknown`,
      )
    case 'input':
      return new AppError(
        'invalid_request',
        `request refers to content outside of it: ${named(budget)} has a limit, and the maximum input of model ${shown} is unknown`,
      )
    case 'native':
      return new AppError(
        'forbidden',
        `cost of this request is unknown, and ${named(budget)} has a limit; use a key without max_budget and tpm_limit`,
      )
    default:
      return new AppError(
        'forbidden',
        `model ${shown} has no known price, and ${named(budget)} has a budget; ` +
          'set the price of the model, or set prices.unknown to allow',
      )
  }
}

const named = ({ scope, scope_id }: BudgetState): string => `${scope} ${scope_id.slice(0, 200)}`

/** Returns the exact amount without trailing zeros. */
const usd = (amount: string): string => `$${amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount}`

const time = (text: string): string => new Date(text).toISOString()
