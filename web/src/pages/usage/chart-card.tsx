import { Button, Title } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { IconChartBar, IconTable } from '@tabler/icons-react'
import { lazy, type ReactNode, Suspense, useEffect, useId, useState } from 'react'
import { useAddress } from '../../parts/address.ts'
import { Loading } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SaveCsv } from '../../parts/save-csv.tsx'
import { inTurn } from '../../parts/turns.ts'
import css from './charts.module.css'
import type { TimeChartProps } from './charts.tsx'
import { FigureTable, type TableContent } from './figure-table.tsx'
import type { Series } from './series.ts'

const TimeChart = lazy(() => import('./charts.tsx').then(module => ({ default: module.TimeChart })))

export interface CardProps {
  /** Name in the address. */
  readonly id: string
  readonly title: string
  readonly controls?: ReactNode
  /** What a person must know about the figures. */
  readonly note?: ReactNode
  readonly table: TableContent
  readonly load: () => Promise<Response>
}

/** A chart with its table; the address says which of them is shown. */
export function ChartCard({
  id,
  title,
  controls,
  note,
  table,
  load,
  children,
}: CardProps & { readonly children: ReactNode }) {
  const heading = useId()
  const [{ table: shown = '' }, setAddress] = useAddress<'table'>()
  const tables = new Set(shown.split(',').filter(name => name !== ''))
  const isTable = tables.has(id)
  const toggle = () => {
    const next = isTable ? [...tables].filter(name => name !== id) : [...tables, id]
    setAddress({ table: next.length === 0 ? undefined : next.join(',') })
  }
  const what = title.toLowerCase()
  return (
    <section className={css.card} aria-labelledby={heading}>
      <div className={css.head}>
        <Title order={2} id={heading}>
          {title}
        </Title>
        <div className={css.controls}>
          {controls}
          <Button
            variant="default"
            size="compact-xs"
            leftSection={isTable ? <IconChartBar size={14} aria-hidden /> : <IconTable size={14} aria-hidden />}
            aria-label={`Show ${isTable ? 'chart' : 'table'} of ${what}`}
            onClick={toggle}
          >
            {isTable ? 'Show chart' : 'Show table'}
          </Button>
          <SaveCsv name={`usage-${id}`} what={what} load={load} />
        </div>
      </div>
      {isTable ? <FigureTable label={title} content={table} /> : children}
      {note}
    </section>
  )
}

interface LegendProps {
  readonly series: readonly Series[]
  /** Words for the dashed line. */
  readonly line?: string | undefined
}

function Legend({ series, line }: LegendProps) {
  return (
    <ul className={css.legend}>
      {series.map(({ key, name, color }) => (
        <li key={key}>
          <span className={css.swatch} style={{ background: color }} />
          <span className="clip">
            <SafeText text={name} />
          </span>
        </li>
      ))}
      {line !== undefined && (
        <li>
          <span className={css.dashes} />
          {line}
        </li>
      )}
    </ul>
  )
}

interface ChartProps extends Omit<TimeChartProps, 'line' | 'height'> {
  /** In pixels, 220 by default. */
  readonly height?: number
  /** What the picture shows, for screen readers. */
  readonly label: string
  readonly line?: { readonly at: number; readonly label: string } | undefined
}

/** In pixels. */
const defaultHeight = 220

/** A chart over time with its legend. It is drawn in its turn, once it comes into view; its place is free before. */
export function LazyChart({ label, line, height = defaultHeight, ...chart }: ChartProps) {
  const { ref, entry } = useIntersection({ rootMargin: '200px' })
  const isDrawn = useTurn(entry?.isIntersecting === true)
  return (
    <>
      <Legend series={chart.series} line={line?.label} />
      <div
        ref={ref}
        className={css.chart}
        style={{ minHeight: height }}
        role="img"
        aria-label={`${label}. The table has the values.`}
      >
        {isDrawn && (
          <Suspense fallback={<Loading lines={4} />}>
            <TimeChart {...chart} height={height} line={line} />
          </Suspense>
        )}
      </div>
    </>
  )
}

/** True from its turn on, once it was wanted. */
function useTurn(isWanted: boolean): boolean {
  const [hasCome, setCome] = useState(false)
  useEffect(() => {
    if (isWanted) inTurn(() => setCome(true))
  }, [isWanted])
  return hasCome
}
