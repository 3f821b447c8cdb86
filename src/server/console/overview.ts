import type { FastifyInstance } from 'fastify'
import { consoleRoutes } from '../../contract/console.ts'
import type { BudgetSettings } from '../budgets/settings.ts'
import type { RunningStore } from '../controls/running-store.ts'
import { bind } from '../http/bind.ts'
import { checkTimezone } from '../http/time-range.ts'
import type { ApprovalStore } from '../sessions/waits/approval-store.ts'
import type { Readiness } from '../system/readiness.ts'
import type { OverviewStore } from './overview-store.ts'

interface Deps {
  readonly store: OverviewStore
  readonly readiness: Pick<Readiness, 'reasons'>
  readonly approvals: Pick<ApprovalStore, 'pending'>
  readonly running: Pick<RunningStore, 'sessions' | 'totals'>
  readonly budgets: Pick<BudgetSettings, 'full'>
}

const shown = { approvals: 5, sessions: 20 } as const

/** Answers what a person wants to know first. */
export function serveOverview(app: FastifyInstance, { store, readiness, approvals, running, budgets }: Deps): void {
  bind(app, consoleRoutes.overview, async ({ query: { timezone = 'UTC' } }, caller) => {
    checkTimezone(timezone)
    const { ownerScope: owner, role } = caller
    const reach = { owner, key: undefined }
    const [reasons, pending, totals, sessions, spend, full, failures] = await Promise.all([
      readiness.reasons(),
      approvals.pending(owner, shown.approvals),
      running.totals(reach),
      running.sessions(reach, { after: undefined, limit: shown.sessions }),
      store.spend(owner, timezone),
      role === 'admin' ? budgets.full(caller) : [],
      store.failures(owner),
    ])
    return {
      readiness: { status: reasons.length === 0 ? ('ok' as const) : ('unavailable' as const), reasons: [...reasons] },
      approvals: pending,
      running: { ...totals, sessions },
      spend,
      budgets: full,
      failures,
    }
  })
}
