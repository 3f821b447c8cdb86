import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { BudgetSettings } from '../budgets/settings.ts'
import type { Config } from '../config/config.ts'
import { webFolder } from '../console/build-list.ts'
import { readBuildStatus } from '../console/build-status.ts'
import { createBuilds } from '../console/builds.ts'
import { serveOverview } from '../console/overview.ts'
import { overviewStore } from '../console/overview-store.ts'
import { serveConsole, serveWithoutConsole } from '../console/pages.ts'
import { runningStore } from '../controls/running-store.ts'
import { approvalStore } from '../sessions/waits/approval-store.ts'
import type { Readiness } from '../system/readiness.ts'

interface Needs {
  readonly config: Pick<Config, 'console'>
  readonly pool: Pool
  readonly readiness: Pick<Readiness, 'reasons'>
  readonly budgetSettings: Pick<BudgetSettings, 'full'>
}

/** The pages of the console, and what they read besides the rest of the API. */
export const composeConsole = ({ config, pool, readiness, budgetSettings }: Needs) => ({
  serve(app: FastifyInstance) {
    if (config.console) {
      const builds = createBuilds(join(webFolder, 'dist'))
      serveConsole(app, { builds, status: () => readBuildStatus(webFolder), nowMs: Date.now })
    } else {
      serveWithoutConsole(app)
    }
    serveOverview(app, {
      store: overviewStore(pool),
      readiness,
      approvals: approvalStore(pool),
      running: runningStore(pool),
      budgets: budgetSettings,
    })
  },
})
