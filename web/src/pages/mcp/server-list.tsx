import { Button } from '@mantine/core'
import { IconLock } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { McpServer } from '../../../../src/contract/mcp.ts'
import type { McpCallSummary } from '../../../../src/contract/mcp-calls.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { count, duration } from '../../parts/format.ts'
import { Empty, Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { serversQuery, totalsQuery } from './queries.ts'
import { ServerPanel } from './server-panel.tsx'
import { authOf, type Rights, stateOf } from './server-state.ts'

interface Row {
  readonly server: McpServer
  readonly totals: McpCallSummary | undefined
}

/** The registered servers, and the open one beside them. */
export function ServerList() {
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const [{ open }, setAddress] = useAddress<'open' | 'create' | 'tool'>()
  const servers = useQuery(serversQuery)
  const totals = useQuery(totalsQuery)
  const isPanelOpen = open !== undefined
  const columns = useMemo(
    () => columnsFor({ isAdmin, mayChange }).filter(({ key }) => !isPanelOpen || !leftOutBesidePanel.has(key)),
    [isAdmin, mayChange, isPanelOpen],
  )
  if (!servers.data) {
    return servers.error ? (
      <ProblemBlock error={servers.error} what="load the MCP servers" retry={() => void servers.refetch()} />
    ) : (
      <Loading />
    )
  }
  const rows = servers.data.map(server => ({
    server,
    totals: totals.data?.data.find(({ server_id }) => server_id === server.server_id),
  }))
  if (rows.length === 0) return <NoServers onCreate={isAdmin ? () => setAddress({ create: '1' }) : undefined} />
  const opened = servers.data.find(({ server_id, server_name }) => open === server_id || open === server_name)
  const close = () => setAddress({ open: undefined, tool: undefined })
  return (
    <WithPanel panel={isPanelOpen && <ServerPanel key={open} id={open} server={opened} onClose={close} />}>
      <DataTable
        label="MCP servers"
        rows={rows}
        columns={columns}
        keyOf={({ server }) => server.server_id}
        selected={opened?.server_id}
        onOpen={({ server }) => setAddress({ open: server.server_id, tool: undefined }, { isStep: true })}
      />
    </WithPanel>
  )
}

function NoServers({ onCreate }: { readonly onCreate: (() => void) | undefined }) {
  return (
    <Empty
      title="No MCP servers"
      action={onCreate && <Button onClick={onCreate}>Register server</Button>}
      link={<a href="/docs">Read the API reference</a>}
    >
      An MCP server offers tools to agents and clients. Register it once with its credential; everyone else reaches it
      through this service with a key of this service.
    </Empty>
  )
}

const leftOutBesidePanel: ReadonlySet<string> = new Set(['auth', 'median', 'calls'])

const columnsFor = (rights: Rights): readonly Column<Row>[] => [
  {
    key: 'name',
    title: 'Server',
    width: 'minmax(180px, 2fr)',
    cell: ({ server }) => (
      <>
        {server.locked && <IconLock size={13} aria-label="Defined in the configuration file" />}{' '}
        <SafeText text={server.server_name} />{' '}
        {server.description !== null && (
          <span className="soft">
            <SafeText text={server.description} />
          </span>
        )}
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    width: 'minmax(130px, 1fr)',
    cell: ({ server }) => <StatePill {...stateOf(server, rights)} />,
  },
  {
    key: 'auth',
    title: 'Authentication',
    width: 'minmax(120px, 1fr)',
    isNarrow: false,
    cell: ({ server }) => authOf(server),
  },
  {
    key: 'calls',
    title: 'Calls, 30 days',
    width: '100px',
    align: 'end',
    isNarrow: false,
    cell: ({ totals }) => <span className="numbers">{count(totals?.calls ?? 0)}</span>,
  },
  {
    key: 'failures',
    title: 'Failures',
    width: '90px',
    align: 'end',
    isNarrow: false,
    cell: ({ totals }) => <Failures totals={totals} />,
  },
  {
    key: 'median',
    title: 'Median',
    width: '80px',
    align: 'end',
    isNarrow: false,
    cell: ({ totals }) => <span className="numbers">{totals ? duration(totals.ms.p50) : '–'}</span>,
  },
  {
    key: 'last',
    title: 'Last call',
    width: '90px',
    align: 'end',
    isNarrow: false,
    cell: ({ totals }) => <Time at={totals?.last_call_at} absent="–" />,
  },
]

function Failures({ totals }: Pick<Row, 'totals'>) {
  const failures = totals ? totals.failed + totals.tool_errors : 0
  if (failures === 0) return <span className="soft">0</span>
  return <StatePill state="failed" word={count(failures)} />
}
