import type { Client } from '../client/client.ts'
import { type UsageFigures, usageRoutes } from '../contract/usage.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { dim, type Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { printTable } from './table.ts'

interface UsageArguments {
  /** Comma-separated. */
  readonly groupBy: string
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly timezone?: string | undefined
  readonly isCsv: boolean
}

const headings = ['REQUESTS', 'INPUT', 'CACHE READ', 'CACHE WRITE', 'OUTPUT', 'COST (USD)'] as const

/** `usage`: prints usage and cost of model calls, by group and in total. */
export async function showUsage(client: Client, { isCsv, ...args }: UsageArguments, out: Out): Promise<ExitCode> {
  if (isCsv && out.isJson) throw new CommandFailed('--csv and --json cannot be used together', exitCodes.usage)
  const query = queryOf(args)
  if (isCsv) {
    const response = await client.open(usageRoutes.report, { query: { ...query, format: 'csv' } })
    out.text(await response.text())
    return exitCodes.ok
  }
  const report = await client.usage.report({ query })
  out.data(report)
  out.line(dim(`${shortTime(report.from)} to ${shortTime(report.to)} (${report.timezone})`))
  const names = report.group_by
  const rows = report.groups.map(({ by, ...figures }) => [
    ...names.map(name => plainLine(by[name] ?? '-', 50)),
    ...cellsOf(figures),
  ])
  printTable(
    out,
    [...names.map(name => name.toUpperCase()), ...headings],
    [...rows, [...names.map((_, at) => (at === 0 ? 'total' : '')), ...cellsOf(report.totals)]],
  )
  if (report.has_more) out.note(dim(`Only ${rows.length} groups are shown; the total covers all groups.`))
  return exitCodes.ok
}

const queryOf = ({ groupBy, from, to, timezone }: Omit<UsageArguments, 'isCsv'>) => ({
  group_by: groupBy,
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(timezone !== undefined && { timezone }),
})

const shortTime = (iso: string): string => iso.replace('T', ' ').replace(/:\d\d[.]\d+Z$/, ' UTC')

const cellsOf = (figures: UsageFigures): string[] => [
  ...[
    figures.requests,
    figures.input_tokens,
    figures.cache_read_tokens,
    figures.cache_write_5m_tokens + figures.cache_write_1h_tokens,
    figures.output_tokens,
  ].map(count => count.toLocaleString('en-US')),
  costText(figures),
]

/** Formats a cost; an unknown cost is stated, never shown as zero. */
function costText({ cost_usd, unpriced_requests }: UsageFigures): string {
  if (unpriced_requests === 0) return cost_usd ?? 'unknown'
  return `${cost_usd === null ? '' : `${cost_usd} + `}${unpriced_requests} without a known price`
}
