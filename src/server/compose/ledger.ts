import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createBudgets } from '../budgets/budgets.ts'
import { reservationStore } from '../budgets/reservation-store.ts'
import { serveBudgets } from '../budgets/routes.ts'
import { createBudgetSettings } from '../budgets/settings.ts'
import { budgetStore } from '../budgets/store.ts'
import type { Config } from '../config/config.ts'
import { freezeStore } from '../controls/freeze-store.ts'
import { createFreezes } from '../controls/freezes.ts'
import { isConnectionLoss } from '../db/connect.ts'
import type { Database } from '../db/database.ts'
import type { Notifications } from '../db/notifications.ts'
import { DatabaseUnavailable } from '../platform/errors.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { observedBudgets, observedSweep, observedUsage } from '../telemetry/observed.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { usageStore } from '../usage/store.ts'
import { toolCallStore } from '../usage/tool-call-store.ts'
import { createToolCallLog } from '../usage/tool-calls.ts'
import { serveToolUsage } from '../usage/tool-routes.ts'
import { createUsage } from '../usage/usage.ts'

interface Needs {
  readonly config: Pick<Config, 'limits'>
  readonly log: Log
  readonly pool: Pool
  /** Pool for the writes of model calls. */
  readonly callPool: Pool
  readonly db: Kysely<Database>
  readonly notifications: Notifications
  readonly audit: Audit
  readonly telemetry: Telemetry
}

const isUnavailable = (error: unknown): boolean => error instanceof DatabaseUnavailable

/** Usage ledger, budgets and freezes. */
export function composeLedger({ config, log, pool, callPool, db, notifications, audit, telemetry }: Needs) {
  const ledger = createUsage({
    store: usageStore(callPool),
    log,
    isTransient: isUnavailable,
    isUnreachable: isConnectionLoss,
  })
  const usage = observedUsage(ledger, telemetry)
  const budgetRows = budgetStore(pool)
  const budgetSettings = createBudgetSettings({ pool, store: budgetRows, audit })
  const { reservationMs } = config.limits
  const reservations = reservationStore(callPool, { lifetimeMs: reservationMs })
  const budgets = createBudgets({
    store: budgetRows,
    reservations: { ...reservations, orphans: observedSweep('budgets', reservations.orphans, telemetry) },
    usage,
    notifications,
    log,
    lifetimeMs: reservationMs,
    nowMs: () => performance.now(),
  })

  const toolCallRows = toolCallStore(pool, db)
  const toolCalls = createToolCallLog({ store: toolCallRows, log })
  const freezeRows = freezeStore(pool)
  const freezes = createFreezes({ store: freezeRows, notifications, log })
  const parts: readonly Part[] = [
    { name: 'usage', stop: usage.stop },
    { name: 'record of tool calls', start: toolCalls.start, stop: toolCalls.stop },
    { name: 'budgets', start: budgets.start, stop: budgets.stop },
    { name: 'freezes', start: freezes.start, stop: freezes.stop },
  ]

  return {
    usage,
    toolCalls,
    freezeRows,
    freezes,
    budgets: observedBudgets(budgets, telemetry),
    budgetRows,
    budgetSettings,
    parts,
    serve(app: FastifyInstance) {
      serveToolUsage(app, { calls: toolCallRows })
      serveBudgets(app, { settings: budgetSettings })
    },
  }
}
