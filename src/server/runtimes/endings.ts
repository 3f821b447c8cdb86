import type { BudgetReached, NewEvent } from '../../contract/events.ts'
import type { AppError } from '../platform/errors.ts'
import { idle } from './runtime.ts'

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
