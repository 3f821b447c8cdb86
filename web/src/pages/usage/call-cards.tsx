import { SegmentedControl } from '@mantine/core'
import type { UsageFigures } from '../../../../src/contract/usage.ts'
import { oneOf, useAddress } from '../../parts/address.ts'
import { count, duration } from '../../parts/format.ts'
import { ChartCard, LazyChart } from './chart-card.tsx'
import type { CardOf } from './cost-card.tsx'
import { cacheWrites } from './figures.ts'
import { loadReportFile } from './queries.ts'
import { seriesOf } from './series.ts'
import { groupingLabels } from './view.ts'

interface Line {
  readonly name: string
  readonly read: (figures: UsageFigures) => number | null
}

interface FiguresCardProps extends CardOf {
  readonly id: string
  readonly title: string
  readonly kind: 'bars' | 'lines'
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** Value of a step without calls. */
  readonly empty: 0 | null
  readonly controls?: React.ReactNode
}

/** Some figures of the report over time. */
function FiguresCard({ view, steps, report, id, title, kind, lines, format, empty, controls }: FiguresCardProps) {
  const figures = new Map(report.groups.map(group => [group.by[view.unit], group]))
  const rows = steps.map(({ value, label }) => {
    const here = figures.get(value)
    return { value, label, amounts: lines.map(({ read }) => (here ? read(here) : empty)) }
  })
  const shown = (amount: number | null | undefined) =>
    amount === null || amount === undefined ? 'none' : format(amount)
  return (
    <ChartCard
      id={id}
      title={title}
      controls={controls}
      load={() => loadReportFile(view, [view.unit])}
      table={{
        head: [groupingLabels[view.unit], ...lines.map(({ name }) => name)],
        rows: rows.map(({ value, label, amounts }) => ({ key: value, cells: [label, ...amounts.map(shown)] })),
        total: ['All', ...lines.map(({ read }) => shown(read(report.totals)))],
      }}
    >
      <LazyChart
        kind={kind}
        label={`${title} by ${view.unit}`}
        series={seriesOf(lines.map(({ name }) => name))}
        points={rows.map(({ label, amounts }) => ({
          label,
          values: Object.fromEntries(amounts.map((amount, at) => [`s${at}`, amount])),
        }))}
        format={format}
      />
    </ChartCard>
  )
}

const tokenLines: readonly Line[] = [
  { name: 'input', read: figures => figures.input_tokens },
  { name: 'cache read', read: figures => figures.cache_read_tokens },
  { name: 'cache write', read: cacheWrites },
  { name: 'output', read: figures => figures.output_tokens },
]

export const TokensCard = (props: CardOf) => (
  <FiguresCard {...props} id="tokens" title="Tokens" kind="bars" lines={tokenLines} format={count} empty={0} />
)

const errorLines: readonly Line[] = [
  { name: 'failed', read: figures => figures.failed_requests },
  { name: 'aborted by the client', read: figures => figures.aborted_requests },
  { name: 'lost with a process', read: figures => figures.lost_requests },
]

export const ErrorsCard = (props: CardOf) => (
  <FiguresCard {...props} id="errors" title="Errors" kind="bars" lines={errorLines} format={count} empty={0} />
)

const latencyLines: Readonly<Record<'first' | 'total', readonly Line[]>> = {
  first: [
    { name: 'p50', read: figures => figures.first_content_ms.p50 },
    { name: 'p95', read: figures => figures.first_content_ms.p95 },
  ],
  total: [
    { name: 'p50', read: figures => figures.total_ms.p50 },
    { name: 'p95', read: figures => figures.total_ms.p95 },
  ],
}

export function LatencyCard(props: CardOf) {
  const [{ latency }, setAddress] = useAddress<'latency'>()
  const shown = oneOf(latency, ['first', 'total'])
  return (
    <FiguresCard
      {...props}
      id="latency"
      title={shown === 'first' ? 'Time to first token' : 'Time to last token'}
      kind="lines"
      lines={latencyLines[shown]}
      format={duration}
      empty={null}
      controls={
        <SegmentedControl
          size="xs"
          aria-label="Latency to"
          data={[
            { value: 'first', label: 'First token' },
            { value: 'total', label: 'Last token' },
          ]}
          value={shown}
          onChange={value => setAddress({ latency: value === 'first' ? undefined : value })}
        />
      }
    />
  )
}
