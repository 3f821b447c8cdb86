import { useQuery } from '@tanstack/react-query'
import type { UsageFigures } from '../../../../../src/contract/usage.ts'
import { count, duration, money } from '../../../parts/format.ts'
import { Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import { Section } from '../../../parts/section.tsx'
import { type FigureRow, FiguresTable } from '../figures-table.tsx'
import { versionUsageQuery } from '../queries.ts'

interface Props {
  readonly agentId: string
  readonly from: number
  readonly to: number
}

/** What the model calls of both versions took in the last 30 days. */
export function VersionFigures({ agentId, from, to }: Props) {
  const a = useQuery(versionUsageQuery(agentId, from))
  const b = useQuery(versionUsageQuery(agentId, to))
  const failed = [a, b].find(({ error, data }) => error && !data)
  return (
    <Section title="Model calls of the last 30 days">
      {failed ? (
        <ProblemBlock error={failed.error} what="load the usage" retry={() => void failed.refetch()} />
      ) : a.data && b.data ? (
        <FiguresTable
          label="Model calls of both versions"
          nameA={`Version ${from}`}
          nameB={`Version ${to}`}
          rows={rowsOf(a.data, b.data)}
        />
      ) : (
        <Loading lines={3} />
      )}
    </Section>
  )
}

type Read = (figures: UsageFigures) => number | null

const reads: readonly (readonly [string, Read, FigureRow['format']])[] = [
  ['Model calls', ({ requests }) => requests, count],
  ['Failed calls', ({ failed_requests: failed }) => failed, count],
  ['Cost', costOf, money],
  ['Cost per call', costPerCall, money],
  ['Input tokens', inputOf, count],
  ['Output tokens', ({ output_tokens: output }) => output, count],
  ['Time of a call, median', ({ total_ms: total }) => total.p50, duration],
  ['First token, median', ({ first_content_ms: first }) => first.p50, duration],
]

function costOf({ cost_usd: cost, requests }: UsageFigures): number | null {
  if (cost !== null) return Number(cost)
  return requests === 0 ? 0 : null
}

function costPerCall({ cost_usd: cost, requests, unpriced_requests: unpriced }: UsageFigures): number | null {
  const priced = requests - unpriced
  return cost === null || priced === 0 ? null : Number(cost) / priced
}

function inputOf(figures: UsageFigures): number {
  const { input_tokens: input, cache_read_tokens: read } = figures
  return input + read + figures.cache_write_5m_tokens + figures.cache_write_1h_tokens
}

const rowsOf = (a: UsageFigures, b: UsageFigures): FigureRow[] =>
  reads.map(([name, read, format]) => ({ name, a: read(a) ?? undefined, b: read(b) ?? undefined, format }))
