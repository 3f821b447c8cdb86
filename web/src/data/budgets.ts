import type { QueryClient } from '@tanstack/react-query'
import type { Budget, BudgetWrite } from '../../../src/contract/budgets.ts'
import { client } from './client.ts'

/** What names a budget, and the limits that a change of one must keep. */
export type NamedBudget = Pick<Budget, 'scope' | 'scope_id'> & Required<BudgetWrite>

/** Sets limits of a budget; the others stay. The limits of a key are fields of the key. */
export async function changeBudget({ scope, scope_id, ...limits }: NamedBudget, changes: BudgetWrite): Promise<void> {
  if (scope === 'key') {
    await client.keys.update({ params: { key_id: scope_id }, body: changes })
    return
  }
  const { max_budget, soft_budget, budget_duration, rpm_limit, tpm_limit, max_parallel_requests } = limits
  const before = { max_budget, soft_budget, budget_duration, rpm_limit, tpm_limit, max_parallel_requests }
  await client.budgets.set({ params: { scope, scope_id }, body: { ...before, ...changes } })
}

/** Loads everything that shows budgets again, after a change. */
export async function reloadBudgets(queries: QueryClient): Promise<void> {
  await Promise.all(['budgets', 'keys', 'overview'].map(name => queries.invalidateQueries({ queryKey: [name] })))
}
