import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Budget } from '../../../../src/contract/budgets.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

export type Scope = Budget['scope']

export const scopes = ['key', 'owner', 'agent', 'session', 'team'] as const satisfies readonly Scope[]

export const budgetsQuery = (scope: Scope | undefined) =>
  infiniteQueryOptions({
    queryKey: ['budgets', 'list', scope],
    queryFn: ({ pageParam: cursor }) => client.budgets.list({ query: present({ limit: 200, cursor, scope }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

/** Name of a budget in the address. */
export interface BudgetId {
  readonly scope: Scope
  readonly scope_id: string
}

export const budgetQuery = ({ scope, scope_id }: BudgetId) =>
  queryOptions({
    queryKey: ['budgets', 'one', scope, scope_id],
    queryFn: () => client.budgets.get({ params: { scope, scope_id } }),
    meta: live,
  })

/** `owner/ada`, for the address. */
export const idOf = ({ scope, scope_id }: BudgetId): string => `${scope}/${scope_id}`

/** Returns the budget that the address names; undefined if it names none. */
export function parsedId(text: string | undefined): BudgetId | undefined {
  const slash = text?.indexOf('/') ?? -1
  const scope = scopes.find(each => each === text?.slice(0, slash))
  const scope_id = text?.slice(slash + 1) ?? ''
  return scope === undefined || scope_id === '' ? undefined : { scope, scope_id }
}
