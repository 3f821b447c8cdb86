import type { FastifyInstance } from 'fastify'
import { toolDimensions, toolUsage } from '../../contract/tool-usage.ts'
import { bind } from '../http/bind.ts'
import { checkTimezone, timeRangeOf } from '../http/time-range.ts'
import { invalid } from '../platform/errors.ts'
import { closedRange, dimensionsOf } from './report.ts'
import { toolTable } from './tables.ts'
import type { ToolCallStore } from './tool-call-store.ts'

/** Maximum number of groups in a file, which is built in memory. */
const maxGroups = 100_000

/** Serves the report on tool calls, as JSON or CSV. */
export function serveToolUsage(
  app: FastifyInstance,
  { calls }: { readonly calls: Pick<ToolCallStore, 'report'> },
): void {
  bind(app, toolUsage, async ({ query }, { ownerScope: visibleOwner }) => {
    const { from, to, timezone = 'UTC', format, group_by = 'tool', limit = 1_000, ...equal } = query
    const asked = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    const range = closedRange(timeRangeOf(asked, checkTimezone(timezone)), new Date())
    const groupBy = dimensionsOf(group_by, toolDimensions)
    const isCsv = format === 'csv'
    const filter = { ...equal, ...range, visibleOwner }
    const report = await calls.report({ filter, groupBy, timezone, limit: isCsv ? maxGroups : limit })
    if (isCsv && report.has_more)
      throw invalid(`group_by results in more than ${maxGroups} groups; use a shorter time range`)
    if (isCsv) return toolTable(groupBy, report.groups)
    return { from: range.from.toISOString(), to: range.to.toISOString(), timezone, group_by: [...groupBy], ...report }
  })
}
