import type { BudgetReached, NewEvent } from '../../contract/events.ts'
import type { AppError } from '../platform/errors.ts'
import { failed, idle } from './runtime.ts'

/** Why a prompt is not run whose key opens nothing any more. */
export const keyIsGoneReason = {
  type: 'model_request_failed_error',
  message: 'the key that queued the prompt was revoked or has expired; send it again with another key',
} as const

/** Ends a run for that reason. */
export const keyIsGone: NewEvent = failed(keyIsGoneReason.type, keyIsGoneReason.message)

/** A budget that has no room for a model call. */
export interface BudgetStop {
  readonly reached: BudgetReached
  readonly message: string
}

/** Pauses a run until its budgets have room. */
export const pausedBy = ({ reached, message }: BudgetStop): NewEvent =>
  idle(reached, { type: 'budget_reached', message })

/** The budget without room, which the gateway names as the cause; undefined when a provider wants to be paid. */
export function usedUpBudget({ code, cause }: AppError): BudgetReached | undefined {
  const { type } = (cause ?? {}) as { readonly type?: unknown }
  return code === 'budget_exceeded' && type === 'budget_reached' ? (cause as BudgetReached) : undefined
}
