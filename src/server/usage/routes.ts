import type { FastifyInstance } from 'fastify'
import { usageRoutes } from '../../contract/usage.ts'
import { bind } from '../http/bind.ts'
import { allRows } from '../http/csv-file.ts'
import { pageOf } from '../http/page.ts'
import { invalid } from '../platform/errors.ts'
import { callFilterOf, reportOf } from './report.ts'
import type { ReportStore } from './report-store.ts'
import { callTable, groupTable } from './tables.ts'

/** Groups that a file may hold; they are in memory while it is made. */
const mostGroups = 100_000

/** The ledger, to be read: sums and single calls, as JSON or as files. */
export function serveUsage(app: FastifyInstance, { ledger }: { ledger: ReportStore }): void {
  bind(app, usageRoutes.report, async ({ query }, caller) => {
    const isCsv = query.format === 'csv'
    const { filter, ...asked } = reportOf(isCsv ? { ...query, limit: mostGroups } : query, caller, new Date())
    const { totals, groups, has_more } = await ledger.report({ filter, ...asked })
    if (isCsv && has_more) throw invalid(`group_by makes more than ${mostGroups} groups here; take a shorter time`)
    if (isCsv) return groupTable(asked.groupBy, asked.groupBy.length === 0 ? [{ by: {}, ...totals }] : groups)
    return {
      from: filter.from.toISOString(),
      to: filter.to.toISOString(),
      timezone: asked.timezone,
      group_by: [...asked.groupBy],
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
}
