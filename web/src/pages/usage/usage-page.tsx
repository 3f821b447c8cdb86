import { Button, Select, Stack, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAddress } from '../../parts/address.ts'
import { CallFilterBar } from '../../parts/call-filter-bar.tsx'
import { withoutCallFilters } from '../../parts/call-filters.ts'
import { FilterFold } from '../../parts/filter-fold.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { RangeFilter } from '../../parts/range-filter.tsx'
import { CacheCard } from './cache-card.tsx'
import { ErrorsCard, LatencyCard, TokensCard } from './call-cards.tsx'
import css from './charts.module.css'
import { CostCard } from './cost-card.tsx'
import { GroupsCard } from './groups-card.tsx'
import { reportQuery, usageKey } from './queries.ts'
import { stepsOf } from './steps.ts'
import { Tiles } from './tiles.tsx'
import { ToolUsage } from './tool-usage.tsx'
import { groupingLabels, groupings, type UsageParameter, type UsageView, usageViewOf } from './view.ts'

/** What model calls cost and how they went, over time and by group. */
export function UsagePage() {
  const [address, setAddress] = useAddress<UsageParameter>()
  const view = usageViewOf(address, Date.now())
  return (
    <Page
      title="Usage"
      isScrolling
      actions={<Refresh />}
      toolbar={
        <>
          <RangeFilter />
          <Select
            size="xs"
            w={170}
            aria-label="Group by"
            data={groupings.map(value => ({ value, label: `By ${groupingLabels[value].toLowerCase()}` }))}
            value={view.grouping}
            onChange={value => setAddress({ group: value === 'model' ? undefined : (value ?? undefined) })}
            maxDropdownHeight={400}
          />
          <FilterFold count={Object.keys(view.filters).length}>
            <CallFilterBar />
          </FilterFold>
        </>
      }
    >
      {view.grouping === 'tool' ? <ToolUsage view={view} /> : <CallUsage view={view} />}
    </Page>
  )
}

/** Reports do not refresh by themselves. */
function Refresh() {
  const queries = useQueryClient()
  const isLoading = useIsFetching({ queryKey: usageKey }) > 0
  return (
    <Button
      variant="default"
      size="compact-xs"
      leftSection={<IconRefresh size={14} aria-hidden />}
      loading={isLoading}
      onClick={() => void queries.invalidateQueries({ queryKey: usageKey })}
    >
      Refresh figures
    </Button>
  )
}

function CallUsage({ view }: { readonly view: UsageView }) {
  const { data: report, error, refetch } = useQuery(reportQuery(view, [view.unit]))
  if (!report) {
    return error ? <ProblemBlock error={error} what="load the usage" retry={() => void refetch()} /> : <Loading />
  }
  if (report.totals.requests === 0) return <NoUsage view={view} />
  const steps = stepsOf(view, report, Date.now())
  const card = { view, steps, report }
  return (
    <Stack gap="md">
      {view.isTooLongForHours && (
        <Text size="sm" role="status">
          Hours are shown for ranges of up to 14 days; this range is shown by day.
        </Text>
      )}
      <Tiles totals={report.totals} />
      <CostCard {...card} />
      <GroupsCard {...card} />
      <div className={css.grid}>
        <TokensCard {...card} />
        <LatencyCard {...card} />
        <ErrorsCard {...card} />
        <CacheCard view={view} />
      </div>
      <Text size="sm">
        <Link to="/console/logs" search={logsSearch(view)}>
          Show the single calls
        </Link>
      </Text>
    </Stack>
  )
}

/** The same range and filters on the page of the calls. */
const logsSearch = ({ range: { name, from, to, zone }, filters }: UsageView) => ({
  ...filters,
  range: name,
  ...(name === 'custom' && { from, to }),
  zone,
})

function NoUsage({ view }: { readonly view: UsageView }) {
  const [, setAddress] = useAddress<UsageParameter>()
  if (Object.keys(view.filters).length > 0) {
    return <NoMatch what="calls" onClear={() => setAddress(withoutCallFilters)} />
  }
  return (
    <Empty
      title="No calls in this range"
      action={<LinkButton to="/console/playground">Open the playground</LinkButton>}
      link={<a href="/docs#tag/usage">Read about usage</a>}
    >
      Cost, tokens, latency and errors of model calls appear here, for each key, agent and model.
    </Empty>
  )
}
