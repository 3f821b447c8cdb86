import { csvLine } from '../../../../src/contract/csv.ts'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'

const head = [
  'id',
  'title',
  'owner',
  'agent',
  'version',
  'runtime',
  'status',
  'activity',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'created_at',
]

const cellsOf = (row: SessionSummary) => [
  row.id,
  row.title,
  row.owner_id,
  row.agent_name,
  row.agent_version,
  row.runtime,
  row.status,
  row.activity.kind,
  row.input_tokens,
  row.output_tokens,
  row.cost_usd,
  row.created_at,
]

/** Returns sessions as CSV with a head. */
export const sessionsFile = (rows: readonly SessionSummary[]): string =>
  [head, ...rows.map(cellsOf)].map(csvLine).join('')
