import '@mantine/charts/styles.css'
import { BarChart, LineChart } from '@mantine/charts'
import type { ReactNode } from 'react'
import { money } from '../../parts/format.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import css from './charts.module.css'
import type { Point, Series } from './series.ts'

export interface TimeChartProps {
  readonly kind: 'bars' | 'lines'
  readonly series: readonly Series[]
  readonly points: readonly Point[]
  readonly format: (value: number) => string
  /** A horizontal line across the chart, such as a budget. */
  readonly line?: { readonly at: number } | undefined
  /** In pixels. */
  readonly height: number
}

const maxLineFactor = 5

/** False for a line so far above the data that it would flatten them; it is then outside of the chart. */
const isNear = (at: number, points: readonly Point[]): boolean =>
  at <= maxLineFactor * Math.max(...points.map(({ values }) => sumOf(values)))

const sumOf = (values: Point['values']): number =>
  Object.values(values).reduce<number>((sum, value) => sum + (value ?? 0), 0)

/** Values over time. The names of series are in a legend beside it, since chart libraries show them as they are. */
export function TimeChart({ kind, series, points, format, line, height }: TimeChartProps) {
  const shared = {
    h: height,
    data: points.map(({ label, values }) => ({ label, ...values })),
    dataKey: 'label',
    series: series.map(({ key, name, color }) => ({ name: key, label: name, color })),
    valueFormatter: format,
    accessibilityLayer: false,
    gridAxis: 'x',
    tickLine: 'none',
    xAxisProps: { minTickGap: 24 },
    yAxisProps: {
      width: 64,
      // Only money has fractions.
      allowDecimals: format === money,
    },
    tooltipProps: {
      content: ({ active, label, payload }: TipProps) =>
        active ? <Tip label={label} payload={payload} series={series} format={format} /> : null,
    },
    ...(line && {
      referenceLines: [
        {
          y: line.at,
          color: 'var(--ink)',
          strokeDasharray: '6 4',
          ifOverflow: isNear(line.at, points) ? ('extendDomain' as const) : ('discard' as const),
        },
      ],
    }),
  } as const
  return kind === 'bars' ? (
    <BarChart
      {...shared}
      type="stacked"
      maxBarWidth={36}
      barProps={{ stroke: 'var(--surface)', strokeOpacity: 1, strokeWidth: 0.5 }}
    />
  ) : (
    <LineChart
      {...shared}
      curveType="linear"
      strokeWidth={2}
      connectNulls={false}
      dotProps={{ r: points.length < 40 ? 2 : 1 }}
    />
  )
}

interface TipProps {
  readonly active?: boolean
  readonly label?: unknown
  readonly payload?: readonly { readonly dataKey?: unknown; readonly value?: unknown }[] | undefined
}

/** Values of one step. Series without a value there are left out. */
function Tip({ label, payload = [], series, format }: TipProps & Pick<TimeChartProps, 'series' | 'format'>): ReactNode {
  const values = new Map(payload.map(({ dataKey, value }) => [dataKey, value]))
  const shown = series.flatMap(each => {
    const value = values.get(each.key)
    return typeof value === 'number' && value !== 0 ? [{ ...each, value }] : []
  })
  return (
    <div className={css.tip}>
      <b>{String(label)}</b>
      {shown.length === 0 && <div className="soft">nothing</div>}
      {shown.map(({ key, name, color, value }) => (
        <div key={key} className={css.tipRow}>
          <span className={css.swatch} style={{ background: color }} />
          <span className="clip">
            <SafeText text={name} />
          </span>
          <span className="numbers">{format(value)}</span>
        </div>
      ))}
    </div>
  )
}
