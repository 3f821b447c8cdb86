import { Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { UsageFigures, UsageGroup } from '../../../../src/contract/usage.ts'
import { type Names, useNames } from '../../data/names.ts'
import type { CallFilters } from '../../parts/call-filters.ts'
import { count } from '../../parts/format.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SaveCsv } from '../../parts/save-csv.tsx'
import css from './charts.module.css'
import type { CardOf } from './cost-card.tsx'
import { dimensionsOf, filtersOfGroup, groupId, groupName, isSeriesGrouping } from './dimensions.ts'
import { Dollars } from './dollars.tsx'
import { FigureTable } from './figure-table.tsx'
import { cacheWrites, errors } from './figures.ts'
import { loadReportFile, reportQuery } from './queries.ts'
import { milliseconds } from './tiles.tsx'
import { groupingLabels, type UsageView } from './view.ts'

/** All figures of each group, with the totals of the ledger below. */
export function GroupsCard({ view, steps }: Pick<CardOf, 'view' | 'steps'>) {
  const names = useNames()
  const { grouping } = view
  const dimensions = isSeriesGrouping(grouping) ? dimensionsOf(grouping) : [view.unit]
  const { data, error, refetch } = useQuery(reportQuery(view, dimensions))
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the groups" retry={() => void refetch()} /> : <Loading />
  }
  const labels = new Map(steps.map(({ value, label }) => [value, label]))
  const title = isSeriesGrouping(grouping) ? groupingLabels[grouping] : groupingLabels[view.unit]
  const label = `Usage by ${title.toLowerCase()}`
  return (
    <section className={css.card} aria-label={label}>
      <div className={css.head}>
        <Title order={2}>{label}</Title>
        <SaveCsv
          name={`usage-by-${dimensions.join('-')}`}
          what={label.toLowerCase()}
          load={() => loadReportFile(view, dimensions)}
        />
      </div>
      <FigureTable
        label={label}
        content={{
          head: [title, ...headings],
          rows: data.groups.map(group => ({
            key: isSeriesGrouping(grouping) ? groupId(grouping, group.by) : (group.by[view.unit] ?? ''),
            cells: [<Name key="name" group={group} view={view} names={names} labels={labels} />, ...cellsOf(group)],
          })),
          total: ['Total', ...cellsOf(data.totals)],
        }}
      />
      <Text size="xs" c="dimmed">
        {data.has_more && 'There are more groups than these; the totals and the CSV file have all. '}
        {data.totals.price_sources.length > 0 && `Prices: ${data.totals.price_sources.join(', ')}.`}
      </Text>
    </section>
  )
}

const headings = [
  'Requests',
  'Errors',
  'Input',
  'Cache read',
  'Cache write',
  'Output',
  'Cost',
  'Without a price',
  'First token p50',
  'First token p95',
] as const

const cellsOf = (figures: UsageFigures): readonly ReactNode[] => [
  count(figures.requests),
  count(errors(figures)),
  count(figures.input_tokens),
  count(figures.cache_read_tokens),
  count(cacheWrites(figures)),
  count(figures.output_tokens),
  <Dollars key="cost" usd={figures.cost_usd} />,
  count(figures.unpriced_requests),
  milliseconds(figures.first_content_ms.p50),
  milliseconds(figures.first_content_ms.p95),
]

interface NameProps {
  readonly group: UsageGroup
  readonly view: UsageView
  readonly names: Names
  readonly labels: ReadonlyMap<string, string>
}

/** Name of a group; a link narrows the page to it. */
function Name({ group: { by }, view: { grouping, unit }, names, labels }: NameProps) {
  if (!isSeriesGrouping(grouping)) {
    const value = by[unit] ?? ''
    const label = labels.get(value) ?? value
    return unit === 'day' ? <Narrowed to={{ range: 'custom', from: value, to: value }}>{label}</Narrowed> : label
  }
  const filters = filtersOfGroup(grouping, by)
  const name = <SafeText text={groupName(grouping, by, names)} />
  return filters ? <Narrowed to={filters}>{name}</Narrowed> : name
}

type Narrowing = CallFilters | { readonly range: string; readonly from: string; readonly to: string }

const Narrowed = ({ to, children }: { readonly to: Narrowing; readonly children: ReactNode }) => (
  <Link to="." search={before => ({ ...before, ...to })}>
    {children}
  </Link>
)
