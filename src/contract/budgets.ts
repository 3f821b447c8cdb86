import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { BudgetDuration, NextCursor, Nullable, pageQuery, Usd } from './schemas.ts'

// The limits of a key are fields of the key, so these routes do not set them.
const writable = [Type.Literal('owner'), Type.Literal('agent'), Type.Literal('session'), Type.Literal('team')] as const
const WritableScope = named('WritableBudgetScope', Type.Union([...writable]))
const Scope = named('BudgetScope', Type.Union([Type.Literal('key'), ...writable]))

/** Limits of a key, an owner, an agent, a session or a team, with the current use. */
export const Budget = named(
  'Budget',
  Type.Object({
    scope: Scope,
    scope_id: Type.String(),
    scope_name: Nullable(
      Type.String({
        description: 'Label of the key, name of the agent or the team, or title of the session; null for an owner',
      }),
    ),
    max_budget: Nullable(Type.Number({ description: 'US dollars per period; null: no limit' })),
    soft_budget: Nullable(Type.Number({ description: 'US dollars; from this amount on, answers carry a warning' })),
    budget_duration: Nullable(Type.String({ description: 'null: the budget never resets' })),
    budget_reset_at: Nullable(Type.String({ format: 'date-time' })),
    spend: Type.Number({ description: 'US dollars spent in this period' }),
    reserved: Type.Number({ description: 'US dollars reserved for calls in flight' }),
    rpm_limit: Nullable(Type.Integer({ description: 'Model calls per minute' })),
    tpm_limit: Nullable(Type.Integer({ description: 'Tokens per minute' })),
    max_parallel_requests: Nullable(Type.Integer()),
    parallel_requests: Type.Integer({ description: 'Calls in flight' }),
  }),
)
export type Budget = Static<typeof Budget>

const Count = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** All limits of an owner, an agent, a session or a team. A limit that is absent or null does not apply. */
export const BudgetWrite = named(
  'BudgetWrite',
  Type.Object({
    max_budget: Type.Optional(Nullable(Usd)),
    soft_budget: Type.Optional(Nullable(Usd)),
    budget_duration: Type.Optional(Nullable(BudgetDuration)),
    rpm_limit: Type.Optional(Nullable(Count)),
    tpm_limit: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1e12 }))),
    max_parallel_requests: Type.Optional(Nullable(Count)),
  }),
)
export type BudgetWrite = Static<typeof BudgetWrite>

const ScopeId = Type.String({ minLength: 1, maxLength: 200 })
const WritablePath = Type.Object({ scope: WritableScope, scope_id: ScopeId })
const base = { access: 'admin', errorShape: 'nested' } as const

export const budgetRoutes = {
  list: route({
    ...base,
    id: 'budgets.list',
    method: 'GET',
    path: '/api/budgets',
    query: Type.Object({ ...pageQuery, scope: Type.Optional(Scope) }),
    responses: { 200: Type.Object({ budgets: Type.Array(Budget), next_cursor: NextCursor }) },
    summary: 'List budgets',
    description:
      'Lists budgets, those of keys included unless they were revoked, with the spent and the reserved amount.',
  }),
  get: route({
    ...base,
    id: 'budgets.get',
    method: 'GET',
    path: '/api/budgets/{scope}/{scope_id}',
    params: Type.Object({ scope: Scope, scope_id: ScopeId }),
    responses: { 200: Budget },
    summary: 'Read a budget',
    description: 'Returns the limits of one budget with the spent and the reserved amount.',
  }),
  set: route({
    ...base,
    id: 'budgets.set',
    method: 'PUT',
    path: '/api/budgets/{scope}/{scope_id}',
    params: WritablePath,
    body: BudgetWrite,
    responses: { 200: Budget },
    summary: 'Set a budget',
    description:
      'Replaces all limits of an owner, an agent, a session or a team. The budget of a team limits all keys of its members. The amount that was spent does not change.',
  }),
  remove: route({
    ...base,
    id: 'budgets.remove',
    method: 'DELETE',
    path: '/api/budgets/{scope}/{scope_id}',
    params: WritablePath,
    responses: { 204: null },
    summary: 'Remove a budget',
    description: 'Removes the limits of an owner, an agent, a session or a team.',
  }),
}
