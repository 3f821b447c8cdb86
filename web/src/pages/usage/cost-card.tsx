import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Budget } from '../../../../src/contract/budgets.ts'
import type { UsageGroup } from '../../../../src/contract/usage.ts'
import { useNames } from '../../data/names.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { count, money, plural } from '../../parts/format.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { budgetLine, budgetOf } from './budget-line.ts'
import { ChartCard, LazyChart } from './chart-card.tsx'
import css from './charts.module.css'
import { dimensionsOf, groupId, groupName, isSeriesGrouping, type SeriesGrouping } from './dimensions.ts'
import { Dollars } from './dollars.tsx'
import type { TableContent } from './figure-table.tsx'
import { budgetQuery, loadReportFile, type Report, reportQuery } from './queries.ts'
import { nested, type Point, type Series, seriesOf, stackOf } from './series.ts'
import type { Step } from './steps.ts'
import { groupingLabels, type UsageView } from './view.ts'

export interface CardOf {
  readonly view: UsageView
  readonly steps: readonly Step[]
  /** Report by step, with the totals of the range. */
  readonly report: Report
}

const costOf = ({ cost_usd }: UsageGroup): number => Number(cost_usd ?? 0)

/** Cost over time, stacked by the groups that cost most. */
export function CostCard(props: CardOf) {
  const { grouping } = props.view
  return isSeriesGrouping(grouping) ? <StackedCost {...props} grouping={grouping} /> : <PlainCost {...props} />
}

function StackedCost({ grouping, ...props }: CardOf & { readonly grouping: SeriesGrouping }) {
  const { view, steps, report } = props
  const names = useNames()
  const dimensions = dimensionsOf(grouping)
  const groups = useQuery(reportQuery(view, dimensions))
  const parts = useQuery(reportQuery(view, [view.unit, ...dimensions]))
  const error = groups.error ?? parts.error
  if (error) {
    const retry = () => void Promise.all([groups.refetch(), parts.refetch()])
    return <ProblemBlock error={error} what="load the cost" retry={retry} />
  }
  if (!groups.data || !parts.data) return <Loading />
  const { series, points } = stackOf({
    steps,
    candidates: groups.data.groups
      .filter(group => costOf(group) > 0)
      .map(({ by }) => ({ id: groupId(grouping, by), name: groupName(grouping, by, names) })),
    amounts: nested(parts.data.groups, {
      step: ({ by }) => by[view.unit] ?? '',
      id: ({ by }) => groupId(grouping, by),
      amount: costOf,
    }),
    totals: new Map(report.groups.map(group => [group.by[view.unit] ?? '', costOf(group)])),
  })
  return (
    <Cost
      {...props}
      dimensions={[view.unit, ...dimensions]}
      series={series}
      points={points}
      isCut={parts.data.has_more || groups.data.has_more}
    />
  )
}

function PlainCost(props: CardOf) {
  const { view, steps, report } = props
  const costs = new Map(report.groups.map(group => [group.by[view.unit], costOf(group)]))
  const points = steps.map(({ value, label }) => ({ label, values: { s0: costs.get(value) ?? 0 } }))
  return <Cost {...props} dimensions={[view.unit]} series={seriesOf(['all calls'])} points={points} isCut={false} />
}

interface CostProps extends CardOf {
  readonly dimensions: readonly string[]
  readonly series: readonly Series[]
  readonly points: readonly Point[]
  /** True when the report has more groups than the service returns at once. */
  readonly isCut: boolean
}

function Cost({ view, steps, report, dimensions, series, points, isCut }: CostProps) {
  const isAdmin = useIsAdmin()
  const { data: budget } = useQuery({
    ...budgetQuery(view.filters),
    enabled: isAdmin && budgetOf(view.filters) !== undefined,
  })
  const line = budget ? budgetLine(budget, view.unit) : undefined
  const unpriced = report.totals.unpriced_requests
  return (
    <ChartCard
      id="cost"
      title={`Cost by ${view.unit}`}
      table={costTable({ view, steps, report, series, points })}
      load={() => loadReportFile(view, dimensions)}
      note={
        <>
          {isCut && (
            <Text size="sm" c="dimmed">
              There are more than 10,000 groups, so the series of later days may be among the others. Choose a shorter
              range or a filter. The totals are complete.
            </Text>
          )}
          {budget && <BudgetNote budget={budget} />}
        </>
      }
    >
      <LazyChart
        kind="bars"
        label={`Cost by ${view.unit}, ${money(report.totals.cost_usd)} in total`}
        series={series}
        points={points}
        format={money}
        line={line && { at: line.usd, label: line.label }}
      />
      {unpriced > 0 && <Unpriced view={view} steps={steps} report={report} />}
    </ChartCard>
  )
}

const BudgetNote = ({ budget }: { readonly budget: Budget }) => (
  <div>
    <Text size="sm" c="dimmed">
      Budget of {budget.scope} <SafeText text={budget.scope_name ?? budget.scope_id} />
    </Text>
    <div className={css.budget}>
      <BudgetBar budget={budget} />
    </div>
  </div>
)

/** Calls that the cost does not contain, as a series with its own axis: an unknown price is not 0. */
function Unpriced({ view, steps, report }: CardOf) {
  const calls = new Map(report.groups.map(({ by, unpriced_requests: n }) => [by[view.unit], n]))
  return (
    <LazyChart
      kind="bars"
      label={`Calls without a known price by ${view.unit}, ${plural(report.totals.unpriced_requests, 'call')} in total`}
      series={[{ key: 'calls', name: 'calls without a known price', color: 'var(--series-other)' }]}
      points={steps.map(({ value, label }) => ({ label, values: { calls: calls.get(value) ?? 0 } }))}
      format={count}
      height={96}
    />
  )
}

function costTable({ view, steps, report, series, points }: Omit<CostProps, 'dimensions' | 'isCut'>): TableContent {
  const figures = new Map(report.groups.map(group => [group.by[view.unit], group]))
  const { totals } = report
  // Without groups the only series is that of all calls.
  const listed = isSeriesGrouping(view.grouping) ? series : []
  return {
    head: [groupingLabels[view.unit], ...listed.map(({ name }) => name), 'All', 'Calls without a price'],
    rows: steps.map(({ value, label }, at) => ({
      key: value,
      cells: [
        label,
        ...listed.map(({ key }) => money(points[at]?.values[key] ?? 0)),
        <Dollars key="all" usd={figures.get(value)?.cost_usd ?? (figures.has(value) ? null : '0')} />,
        figures.get(value)?.unpriced_requests ?? 0,
      ],
    })),
    total: [
      'Total',
      ...listed.map(({ key }) => money(points.reduce((sum, { values }) => sum + (values[key] ?? 0), 0))),
      <Dollars key="all" usd={totals.cost_usd} />,
      totals.unpriced_requests,
    ],
  }
}
