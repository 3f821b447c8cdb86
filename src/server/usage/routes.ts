import type { FastifyInstance } from 'fastify'
import { usageRoutes } from '../../contract/usage.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { allRows } from '../http/csv-file.ts'
import { pageOf } from '../http/page.ts'
import { AppError } from '../platform/errors.ts'
import { callFilterOf, maxFileGroups, reportOf, tooManyGroups } from './report.ts'
import type { ReportStore } from './report-store.ts'
import { callTable, groupTable } from './tables.ts'

interface Deps {
  readonly ledger: ReportStore
  /** Recorded bodies of calls. */
  readonly records: { readonly has: (requestId: string, caller: Caller) => Promise<boolean> }
}

/** Binds the usage routes: sums and single calls, as JSON or CSV. */
export function serveUsage(app: FastifyInstance, { ledger, records }: Deps): void {
  bind(app, usageRoutes.report, async ({ query }, caller) => {
    const isCsv = query.format === 'csv'
    const { filter, ...report } = reportOf(isCsv ? { ...query, limit: maxFileGroups } : query, caller, new Date())
    const { totals, groups, has_more } = await ledger.report({ filter, ...report })
    if (isCsv && has_more) throw tooManyGroups()
    if (isCsv) return groupTable(report.groupBy, report.groupBy.length === 0 ? [{ by: {}, ...totals }] : groups)
    return {
      from: filter.from.toISOString(),
      to: filter.to.toISOString(),
      timezone: report.timezone,
      group_by: [...report.groupBy],
      totals,
      groups,
      has_more,
    }
  })

  bind(app, usageRoutes.calls, async ({ query }, caller) => {
    const filter = callFilterOf(query, caller)
    const load = (page: { after: string | undefined; limit: number }) => ledger.calls(filter, page)
    if (query.format === 'csv') return callTable(allRows(load, ({ place }) => place))
    const { items, next_cursor } = await pageOf(query, load, ({ place }) => place)
    return { calls: items.map(({ call }) => call), next_cursor }
  })

  bind(app, usageRoutes.call, async ({ params: { request_id } }, caller) => {
    const [found] = await ledger.calls(callFilterOf({ request_id }, caller), { after: undefined, limit: 1 })
    if (!found) throw notRecorded(request_id)
    return { ...found.call, has_bodies: await records.has(request_id, caller) }
  })
}

const notRecorded = (requestId: string): AppError =>
  new AppError(
    'not_found',
    `call ${requestId.slice(0, 100)} not found; calls are recorded at most 100 ms after their end`,
  )
