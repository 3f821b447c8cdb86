import type { Cell } from '../../contract/csv.ts'
import type { ToolDimension, ToolGroup } from '../../contract/tool-usage.ts'
import { UsageCall, type UsageDimension, type UsageFigures, type UsageGroup } from '../../contract/usage.ts'
import { CsvFile } from '../http/csv-file.ts'

type Figure = readonly [column: string, read: (figures: UsageFigures) => Cell]

const plainFigures = [
  'requests',
  'failed_requests',
  'aborted_requests',
  'lost_requests',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'web_searches',
  'cost_usd',
  'unpriced_requests',
  'cached_requests',
  'estimated_requests',
] as const satisfies (keyof UsageFigures)[]

const figures: readonly Figure[] = [
  ...plainFigures.map((name): Figure => [name, given => given[name]]),
  ['price_sources', given => given.price_sources.join('; ')],
  ['first_content_ms_p50', given => given.first_content_ms.p50],
  ['first_content_ms_p95', given => given.first_content_ms.p95],
  ['total_ms_p50', given => given.total_ms.p50],
  ['total_ms_p95', given => given.total_ms.p95],
]

/** Returns groups as a CSV file: the dimensions, then the figures. */
export function groupTable(dimensions: readonly UsageDimension[], groups: readonly UsageGroup[]): CsvFile {
  async function* rows() {
    for (const group of groups) {
      yield [...dimensions.map(name => group.by[name] ?? null), ...figures.map(([, read]) => read(group))]
    }
  }
  return new CsvFile('usage', [...dimensions, ...figures.map(([name]) => name)], rows())
}

/** Returns groups of tool calls as a CSV file: the dimensions, then the figures. */
export function toolTable(dimensions: readonly ToolDimension[], groups: readonly ToolGroup[]): CsvFile {
  async function* rows() {
    for (const { by, calls, failed_calls, ms, total_ms } of groups)
      yield [...dimensions.map(name => by[name] ?? null), calls, failed_calls, ms.p50, ms.p95, total_ms]
  }
  return new CsvFile('tool-usage', [...dimensions, 'calls', 'failed_calls', 'ms_p50', 'ms_p95', 'total_ms'], rows())
}

/** Returns calls as a CSV file with every field of the ledger. */
export function callTable(calls: AsyncIterable<{ readonly call: UsageCall }>): CsvFile {
  const columns = Object.keys(UsageCall.properties) as (keyof UsageCall)[]
  async function* rows() {
    for await (const { call } of calls) yield columns.map(column => cellOf(call[column]))
  }
  return new CsvFile('usage-calls', columns, rows())
}

const cellOf = (value: UsageCall[keyof UsageCall]): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value
