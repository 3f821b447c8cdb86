import { Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ToolFigures } from '../../../../src/contract/tool-usage.ts'
import { count, duration } from '../../parts/format.ts'
import { Empty, Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SaveCsv } from '../../parts/save-csv.tsx'
import { ChartCard, LazyChart } from './chart-card.tsx'
import css from './charts.module.css'
import { FigureTable } from './figure-table.tsx'
import { percent } from './figures.ts'
import { filtersWithoutTools, loadToolsFile, type ToolReport, toolsQuery } from './queries.ts'
import { nested, stackOf } from './series.ts'
import { stepsOf } from './steps.ts'
import { milliseconds, Tile } from './tiles.tsx'
import { groupingLabels, type UsageView } from './view.ts'

/** Tool calls of sessions. They have no cost and no model, so they have a separate report. */
export function ToolUsage({ view }: { readonly view: UsageView }) {
  const byTool = useQuery(toolsQuery(view, ['tool']))
  const byStep = useQuery(toolsQuery(view, [view.unit, 'tool']))
  const error = byTool.error ?? byStep.error
  if (error) {
    const retry = () => void Promise.all([byTool.refetch(), byStep.refetch()])
    return <ProblemBlock error={error} what="load the tool calls" retry={retry} />
  }
  if (!byTool.data || !byStep.data) return <Loading />
  const ignored = filtersWithoutTools(view.filters)
  return (
    <Stack gap="md">
      {ignored.length > 0 && (
        <Text size="sm" role="status">
          These filters do not apply to tool calls, which have no such fields: {ignored.join(', ')}.
        </Text>
      )}
      {byTool.data.totals.calls === 0 ? (
        <Empty title="No tool calls in this range">
          Tool calls of sessions appear here for 30 days, without their arguments and results.
        </Empty>
      ) : (
        <Tools view={view} byTool={byTool.data} byStep={byStep.data} />
      )}
    </Stack>
  )
}

interface Props {
  readonly view: UsageView
  readonly byTool: ToolReport
  readonly byStep: ToolReport
}

const cellsOf = ({ calls, failed_calls: failed, ms, total_ms: total }: ToolFigures): readonly string[] => [
  count(calls),
  count(failed),
  percent(failed, calls),
  milliseconds(ms.p50),
  milliseconds(ms.p95),
  duration(total),
]

function Tools({ view, byTool, byStep }: Props) {
  const { totals } = byTool
  const steps = stepsOf(view, byStep, Date.now())
  const amounts = nested(byStep.groups, {
    step: ({ by }) => by[view.unit] ?? '',
    id: ({ by }) => by['tool'] ?? '',
    amount: ({ calls }) => calls,
  })
  const { series, points } = stackOf({
    steps,
    candidates: byTool.groups.map(({ by: { tool } }) => ({ id: tool ?? '', name: tool ?? 'no tool' })),
    amounts,
    totals: new Map([...amounts].map(([step, tools]) => [step, [...tools.values()].reduce((sum, n) => sum + n, 0)])),
  })
  return (
    <>
      <dl className={css.tiles}>
        <Tile name="Tool calls" value={count(totals.calls)} />
        <Tile name="Failed" value={count(totals.failed_calls)} detail={percent(totals.failed_calls, totals.calls)} />
        <Tile name="Time, p50" value={milliseconds(totals.ms.p50)} />
        <Tile name="Time, p95" value={milliseconds(totals.ms.p95)} />
        <Tile name="Time of all" value={duration(totals.total_ms)} />
      </dl>
      <ChartCard
        id="tools"
        title={`Tool calls by ${view.unit}`}
        load={() => loadToolsFile(view, [view.unit, 'tool'])}
        table={{
          head: [groupingLabels[view.unit], ...series.map(({ name }) => name)],
          rows: steps.map(({ value, label }, at) => ({
            key: value,
            cells: [label, ...series.map(({ key }) => count(points[at]?.values[key] ?? 0))],
          })),
        }}
      >
        <LazyChart
          kind="bars"
          label={`Tool calls by ${view.unit}, ${count(totals.calls)} in total`}
          series={series}
          points={points}
          format={count}
        />
      </ChartCard>
      <section className={css.card} aria-label="Usage by tool">
        <div className={css.head}>
          <Title order={2}>Usage by tool</Title>
          <SaveCsv name="usage-by-tool" what="usage by tool" load={() => loadToolsFile(view, ['tool'])} />
        </div>
        <FigureTable
          label="Usage by tool"
          content={{
            head: ['Tool', 'Calls', 'Failed', 'Failed share', 'p50', 'p95', 'Time of all'],
            rows: byTool.groups.map(group => ({
              key: group.by['tool'] ?? '',
              cells: [<SafeText key="name" text={group.by['tool'] ?? 'no tool'} />, ...cellsOf(group)],
            })),
            total: ['Total', ...cellsOf(totals)],
          }}
        />
      </section>
    </>
  )
}
