import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { BudgetSettings } from '../budgets/settings.ts'
import { serveOverview } from '../console/overview.ts'
import { overviewStore } from '../console/overview-store.ts'
import { runningStore } from '../controls/running-store.ts'
import { approvalStore } from '../sessions/waits/approval-store.ts'
import type { Readiness } from '../system/readiness.ts'

interface Needs {
  readonly pool: Pool
  readonly readiness: Pick<Readiness, 'reasons'>
  readonly budgetSettings: Pick<BudgetSettings, 'full'>
}

/** What the console reads besides the rest of the API. */
export const composeConsole = ({ pool, readiness, budgetSettings }: Needs) => ({
  serve(app: FastifyInstance) {
    serveOverview(app, {
      store: overviewStore(pool),
      readiness,
      approvals: approvalStore(pool),
      running: runningStore(pool),
      budgets: budgetSettings,
    })
  },
})
