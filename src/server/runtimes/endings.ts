import type { BudgetReached, NewEvent } from '../../contract/events.ts'
import type { AppError } from '../platform/errors.ts'
import { failed, idle } from './runtime.ts'

/** Error of a prompt whose key was revoked, has expired or may only read. */
export const unusableKeyFailure = {
  type: 'model_request_failed_error',
  message: 'the key that queued the prompt was revoked, has expired or may only read; send it again with another key',
} as const

/** Last event of such a run. */
export const unusableKeyEvent = failed(unusableKeyFailure.type, unusableKeyFailure.message)

/** A budget that has no room for a model call. */
export interface BudgetStop {
  readonly reached: BudgetReached
  readonly message: string
}

/** Pauses a run until its budgets have room. */
export const pausedByBudget = ({ reached, message }: BudgetStop): NewEvent =>
  idle(reached, { type: 'budget_reached', message })

/** Returns the exhausted budget that the gateway set as the cause; undefined for a billing error of a provider. */
export function exceededBudget({ code, cause }: AppError): BudgetReached | undefined {
  const { type } = (cause ?? {}) as { readonly type?: unknown }
  return code === 'budget_exceeded' && type === 'budget_reached' ? (cause as BudgetReached) : undefined
}
