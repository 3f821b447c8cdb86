import type { FastifyInstance } from 'fastify'
import { toolDimensions, toolUsage } from '../../contract/tool-usage.ts'
import { bind } from '../http/bind.ts'
import { checkTimezone, timeRangeOf } from '../http/time-range.ts'
import { closedRange, dimensionsOf, maxFileGroups, tooManyGroups } from './report.ts'
import { toolTable } from './tables.ts'
import type { ToolCallStore } from './tool-call-store.ts'

/** Serves the report on tool calls, as JSON or CSV. */
export function serveToolUsage(
  app: FastifyInstance,
  { calls }: { readonly calls: Pick<ToolCallStore, 'report'> },
): void {
  bind(app, toolUsage, async ({ query }, { ownerScope: visibleOwner }) => {
    const { timezone = 'UTC', format, group_by = 'tool', limit = 1_000, ...equal } = query
    const range = closedRange(timeRangeOf(query, checkTimezone(timezone)), new Date())
    const groupBy = dimensionsOf(group_by, toolDimensions)
    const isCsv = format === 'csv'
    const filter = { ...equal, ...range, visibleOwner }
    const report = await calls.report({ filter, groupBy, timezone, limit: isCsv ? maxFileGroups : limit })
    if (isCsv && report.has_more) throw tooManyGroups()
    if (isCsv) return toolTable(groupBy, report.groups)
    return { from: range.from.toISOString(), to: range.to.toISOString(), timezone, group_by: [...groupBy], ...report }
  })
}
