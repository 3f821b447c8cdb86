import { useInfiniteQuery } from '@tanstack/react-query'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import { useNames } from '../../data/names.ts'
import { useAddress } from '../../parts/address.ts'
import { CallFilterBar } from '../../parts/call-filter-bar.tsx'
import { type CallFilterName, callFiltersOf, withoutCallFilters } from '../../parts/call-filters.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { dayRangeOf, type RangeParameter } from '../../parts/day-range.ts'
import { FilterFold } from '../../parts/filter-fold.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { RangeFilter } from '../../parts/range-filter.tsx'
import { SaveCsv } from '../../parts/save-csv.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { CallPanel } from './call-panel.tsx'
import { columnsWith, fewColumnsWith } from './columns.tsx'
import { CostFilter, StatusFilter } from './more-filters.tsx'
import { type CallsWanted, callsQuery, loadCallsFile } from './queries.ts'

const nameOf = ({ request_id, id }: UsageCall): string => request_id ?? id

/** The log of model calls, of clients and of sessions. */
export function LogsPage() {
  const [address, setAddress] = useAddress<CallFilterName | RangeParameter | 'request_id' | 'open'>()
  const { range, request_id: requestId } = address
  const wanted: CallsWanted = {
    filters: callFiltersOf(address),
    requestId,
    range: range === undefined ? undefined : dayRangeOf(address, Date.now()),
  }
  return (
    <Page
      title="Logs"
      actions={<SaveCsv name="model-calls" what="calls" load={() => loadCallsFile(wanted)} />}
      toolbar={
        <>
          <RangeFilter anyTime="All time" />
          <SearchFilter label="Request id" value={requestId} onChange={value => setAddress({ request_id: value })} />
          <FilterFold count={Object.keys(wanted.filters).length}>
            <CallFilterBar elsewhere={['status', 'min_cost_usd']} />
            <StatusFilter />
            <CostFilter />
          </FilterFold>
        </>
      }
    >
      <Calls wanted={wanted} />
    </Page>
  )
}

function Calls({ wanted }: { readonly wanted: CallsWanted }) {
  const [{ open }, setAddress] = useAddress<CallFilterName | RangeParameter | 'request_id' | 'open'>()
  const names = useNames()
  const calls = useInfiniteQuery(callsQuery(wanted))
  const { data, error, hasNextPage, isFetchingNextPage } = calls
  const close = () => setAddress({ open: undefined })
  const rows = data?.pages.flatMap(page => page.calls)
  const panel = open !== undefined && (
    <CallPanel key={open} name={open} row={rows?.find(call => nameOf(call) === open)} onClose={close} />
  )
  return (
    <WithPanel panel={panel}>
      {rows === undefined ? (
        error ? (
          <ProblemBlock error={error} what="load the calls" retry={() => void calls.refetch()} />
        ) : (
          <Loading />
        )
      ) : rows.length === 0 ? (
        <NoCalls wanted={wanted} />
      ) : (
        <DataTable
          label="Model calls"
          rows={rows}
          columns={panel ? fewColumnsWith(names) : columnsWith(names)}
          keyOf={nameOf}
          selected={open}
          onOpen={call => setAddress({ open: nameOf(call) }, { isStep: true })}
          onEnd={hasNextPage && !isFetchingNextPage ? () => void calls.fetchNextPage() : undefined}
        />
      )}
    </WithPanel>
  )
}

function NoCalls({ wanted: { filters, requestId, range } }: { readonly wanted: CallsWanted }) {
  const [, setAddress] = useAddress<CallFilterName | RangeParameter | 'request_id'>()
  const isFiltered = Object.keys(filters).length > 0 || requestId !== undefined || range !== undefined
  const clear = () =>
    setAddress({ ...withoutCallFilters, request_id: undefined, range: undefined, from: undefined, to: undefined })
  if (isFiltered) return <NoMatch what="calls" onClear={clear} />
  return (
    <Empty
      title="No calls yet"
      action={<LinkButton to="/console/playground">Open the playground</LinkButton>}
      link={<a href="/docs#tag/usage">Read about usage</a>}
    >
      Each model call appears here with its tokens, cost and outcome, from clients, agents and the playground. Requests
      and answers are stored only where an administrator records them.
    </Empty>
  )
}
