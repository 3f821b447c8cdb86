import type { FastifyInstance } from 'fastify'
import { budgetRoutes } from '../../contract/budgets.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import { type BudgetSettings, nameOf } from './settings.ts'

/** Binds the budget routes, for admins. Scoped admins access only budgets of their owner. */
export function serveBudgets(app: FastifyInstance, { settings }: { settings: BudgetSettings }): void {
  bind(app, budgetRoutes.list, async ({ query }, caller) => {
    const load = (page: { after: string | undefined; limit: number }) =>
      settings.list({ scope: query.scope, ...page }, caller)
    const { items, next_cursor } = await pageOf(query, load, nameOf)
    return { budgets: items, next_cursor }
  })
  bind(app, budgetRoutes.get, ({ params }, caller) => settings.get(params, caller))
  bind(app, budgetRoutes.set, ({ params, body }, caller, { actor }) => settings.set(params, body, { caller, actor }))
  bind(app, budgetRoutes.remove, ({ params }, caller, { actor }) => settings.remove(params, { caller, actor }))
}
