import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { McpCall, McpCallOutcome } from '../../../../src/contract/mcp-calls.ts'
import { nextPageOf } from '../../data/next-page.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { oneOf, useAddress } from '../../parts/address.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { ChoiceFilter, FilterChips, SearchFilter } from '../../parts/filters.tsx'
import { bytes, duration } from '../../parts/format.ts'
import { Empty, Loading, NoMatch, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import type { StateName } from '../../theme.ts'
import css from './mcp.module.css'
import { callsQuery, serversQuery } from './queries.ts'

const outcomes: Readonly<Record<McpCallOutcome, readonly [state: StateName, word: string]>> = {
  completed: ['done', 'completed'],
  tool_error: ['failed', 'tool error'],
  failed: ['failed', 'no result'],
}

const vias: Readonly<Record<McpCall['via'], string>> = {
  proxy: '/mcp/server',
  aggregate: '/mcp',
  rest: 'console or REST',
  session: 'session',
}

const outcomeOf = (text: string | undefined): McpCallOutcome | undefined =>
  text === undefined ? undefined : oneOf<McpCallOutcome>(text, ['completed', 'tool_error', 'failed'])

/** Calls of tools, newest first. Arguments and results are not stored. */
export function CallLog() {
  const isAdmin = useIsAdmin()
  const [{ server, tool, outcome }, setAddress] = useAddress<'server' | 'tool' | 'outcome'>()
  const { data: servers = [] } = useQuery(serversQuery)
  const calls = useInfiniteQuery(callsQuery({ server, tool, outcome: outcomeOf(outcome) }))
  const rows = calls.data?.pages.flatMap(page => page.calls)
  const clear = () => setAddress({ server: undefined, tool: undefined, outcome: undefined })
  const isFiltered = server !== undefined || tool !== undefined || outcome !== undefined
  return (
    <>
      <div className={css.filters}>
        <SearchFilter label="Name of the tool" value={tool} onChange={next => setAddress({ tool: next })} />
        <ChoiceFilter
          label="Server"
          value={server}
          options={servers.map(({ server_name }) => server_name)}
          onChange={next => setAddress({ server: next })}
        />
        <ChoiceFilter
          label="Outcome"
          value={outcome}
          options={Object.entries(outcomes).map(([value, [, label]]) => ({ value, label }))}
          onChange={next => setAddress({ outcome: next })}
        />
        <FilterChips
          active={{ server, tool, outcome }}
          onRemove={name => setAddress({ [name]: undefined })}
          onClear={clear}
        />
      </div>
      <Calls
        rows={rows}
        error={calls.error}
        retry={() => void calls.refetch()}
        onClear={isFiltered ? clear : undefined}
        columns={isAdmin ? columns : columns.filter(({ key }) => key !== 'caller')}
        onEnd={nextPageOf(calls)}
      />
    </>
  )
}

interface CallsProps {
  readonly rows: readonly McpCall[] | undefined
  readonly error: unknown
  readonly retry: () => void
  /** Present while filters are set. */
  readonly onClear: (() => void) | undefined
  readonly columns: readonly Column<McpCall>[]
  readonly onEnd: (() => void) | undefined
}

function Calls({ rows, error, retry, onClear, columns: shown, onEnd }: CallsProps) {
  if (!rows) return error ? <ProblemBlock error={error} what="load the call log" retry={retry} /> : <Loading />
  if (rows.length === 0 && onClear) return <NoMatch what="calls" onClear={onClear} />
  if (rows.length === 0) {
    return (
      <Empty title="No calls yet">
        Every call of a tool appears here with its latency and outcome, from agents, clients and this page. Arguments
        and results are not stored.
      </Empty>
    )
  }
  return <DataTable label="Calls of tools" rows={rows} columns={shown} keyOf={({ id }) => id} onEnd={onEnd} />
}

const columns: readonly Column<McpCall>[] = [
  { key: 'time', title: 'Time', width: '80px', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: 'server',
    title: 'Server',
    width: 'minmax(100px, 1fr)',
    isNarrow: false,
    cell: ({ server_name }) => <SafeText text={server_name} />,
  },
  {
    key: 'tool',
    title: 'Tool',
    width: 'minmax(140px, 1.5fr)',
    cell: ({ tool }) => (
      <span className="mono">
        <SafeText text={tool} />
      </span>
    ),
  },
  {
    key: 'outcome',
    title: 'Outcome',
    width: 'minmax(120px, 1fr)',
    cell: ({ outcome, error_code }) => (
      <StatePill state={outcomes[outcome][0]} word={outcomes[outcome][1]} detail={error_code ?? undefined} />
    ),
  },
  { key: 'via', title: 'Through', width: '130px', isNarrow: false, cell: ({ via }) => vias[via] },
  {
    key: 'caller',
    title: 'Caller',
    width: 'minmax(90px, 1fr)',
    isNarrow: false,
    cell: ({ principal }) => <SafeText text={principal} />,
  },
  {
    key: 'ms',
    title: 'Latency',
    width: '80px',
    align: 'end',
    cell: ({ ms }) => <span className="numbers">{duration(ms)}</span>,
  },
  {
    key: 'sizes',
    title: 'Sent, received',
    width: '140px',
    align: 'end',
    isNarrow: false,
    cell: ({ request_bytes, response_bytes }) => (
      <span className="numbers">
        {bytes(request_bytes)}, {bytes(response_bytes)}
      </span>
    ),
  },
]
