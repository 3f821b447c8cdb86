import type { BudgetReached } from '../../contract/events.ts'
import { AppError } from '../platform/errors.ts'
import { RateLimitReached, rateLimitsOf } from './rate-limits.ts'
import type { BudgetState, Verdict } from './reservation-store.ts'

/** Why nobody can tell what a call may use at most. */
export type Unknown = 'price' | 'output' | 'input' | 'native'

/** What a call may use at most, for the words of a refusal. */
export interface Wanted {
  /** US dollars as an exact decimal; null: nobody can tell. */
  readonly amountUsd: string | null
  /** Null: nobody can tell. */
  readonly tokens: number | null
  /** Absent when both are known. */
  readonly unknown?: Unknown | undefined
  readonly model: string
}

/** What a call that was not admitted is told: first of requests, tokens and slots, then of money. Gateway: section 4. */
export function refusalOf({ is_key_valid, budgets }: Verdict, wanted: Wanted): AppError {
  if (!is_key_valid) return new AppError('unauthorized', 'unauthorized')
  for (const [isFree, refuse] of checks) {
    const full = budgets.find(budget => !isFree(budget))
    if (!full) continue
    const error = refuse(full, wanted)
    return error.code === 'rate_limited' ? new RateLimitReached(error, rateLimitsOf(budgets)) : error
  }
  return new AppError('internal', 'a call was refused that nothing stands against')
}

type Refuse = (budget: BudgetState, wanted: Wanted) => AppError

const checks: readonly (readonly [isFree: (budget: BudgetState) => boolean, Refuse])[] = [
  [({ has_requests }) => has_requests, tooManyRequests],
  [({ has_tokens }) => has_tokens, tooManyTokens],
  [({ has_slot }) => has_slot, tooManyCalls],
  [({ has_money }) => has_money, tooMuchMoney],
]

/** True when what stands against a call may be given back soon: other calls hold it, and it would be enough. */
export const mayBeFreed = ({ is_key_valid, budgets }: Verdict): boolean =>
  is_key_valid &&
  budgets.every(({ has_requests }) => has_requests) &&
  budgets.every(
    ({ has_tokens, has_slot, has_money, parallel }) => (has_tokens && has_slot && has_money) || parallel > 0,
  )

function tooManyRequests(budget: BudgetState): AppError {
  const { rpm_limit, window_rest_s } = budget
  return limited(`${named(budget)} may make ${rpm_limit} requests a minute, and has made them`, window_rest_s)
}

function tooManyTokens(budget: BudgetState, wanted: Wanted): AppError {
  const { tpm_limit, tokens, window_rest_s } = budget
  if (wanted.tokens === null) return unbounded(budget, wanted)
  const most = `${named(budget)} may use ${tpm_limit} tokens a minute; this call may use up to ${wanted.tokens}`
  if (wanted.tokens > (tpm_limit ?? 0)) return limited(`${most}: shorten it, or lower its max_tokens`, window_rest_s)
  return limited(`${most}, and ${tokens} are used or held`, window_rest_s)
}

/** A slot comes free with the end of any call, not with the minute. */
const slotRetrySeconds = 1

function tooManyCalls(budget: BudgetState): AppError {
  return limited(
    `${named(budget)} may make ${budget.max_parallel} calls at a time, and all are at work`,
    slotRetrySeconds,
  )
}

const limited = (message: string, retryAfter: number): AppError =>
  new AppError('rate_limited', `${message}; try again in ${retryAfter} s`, {
    headers: { 'retry-after': String(retryAfter) },
  })

function tooMuchMoney(budget: BudgetState, wanted: Wanted): AppError {
  const { scope, scope_id, max_usd, duration, spent_usd, reserved_usd, reset_at } = budget
  if (wanted.amountUsd === null) return unbounded(budget, wanted)
  const limit = `${usd(max_usd ?? '0')}${duration === null ? '' : ` per ${duration}`}`
  const used = `${usd(spent_usd)} are spent and ${usd(reserved_usd)} held for calls at work`
  const asks = `this call may cost up to ${usd(wanted.amountUsd)}`
  const reset = reset_at === null ? 'it is not reset' : `it is reset at ${time(reset_at)}`
  const cause: BudgetReached = {
    type: 'budget_reached',
    scope,
    scope_id,
    max_usd: max_usd === null ? null : Number(max_usd),
    needed_usd: Number(wanted.amountUsd),
    resets_at: reset_at === null ? null : time(reset_at),
  }
  return new AppError('budget_exceeded', `the budget of ${named(budget)} is ${limit}: ${used}, and ${asks}; ${reset}`, {
    cause,
    headers: {
      'x-switchyard-budget-scope': scope,
      ...(reset_at !== null && { 'x-switchyard-budget-resets-at': time(reset_at) }),
    },
  })
}

/** More money would not help such a call, so it is no matter of the budget being used up. */
function unbounded(budget: BudgetState, { model, unknown }: Wanted): AppError {
  const shown = model.slice(0, 200)
  switch (unknown) {
    case 'output':
      return new AppError(
        'invalid_request',
        `max_tokens is required: ${named(budget)} has a limit, and how much model ${shown} answers at most is not known`,
      )
    case 'input':
      return new AppError(
        'invalid_request',
        `this call refers to text that is not in it, ${named(budget)} has a limit, and how much model ${shown} reads at most is not known`,
      )
    case 'native':
      return new AppError(
        'forbidden',
        `what this request costs cannot be read, so it cannot be used under the limit of ${named(budget)}; ` +
          'use a key without max_budget and tpm_limit',
      )
    default:
      return new AppError(
        'forbidden',
        `model ${shown} has no known price, so it cannot be used under the budget of ${named(budget)}; ` +
          'state its price, or set prices.unknown to allow',
      )
  }
}

const named = ({ scope, scope_id }: BudgetState): string => `${scope} ${scope_id.slice(0, 200)}`

/** Exact, and not longer than it has to be. */
const usd = (amount: string): string => `$${amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount}`

const time = (text: string): string => new Date(text).toISOString()
