import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { RuntimeHarness } from '../../../../src/contract/runtimes.ts'
import { useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel, WithPanel } from '../../parts/side-panel.tsx'
import { CreateHarness } from './harness-form.tsx'
import { runtimesQuery } from './queries.ts'
import { RuntimePanel } from './runtime-panel.tsx'
import { RuntimeState } from './runtime-words.tsx'

const title = 'Runtimes'

/** What runs agents: the built-in runtimes and the registered ones. */
export function RuntimesPage() {
  return (
    <AdminOnly title={title} right="Only administrators connect and register runtimes">
      <Runtimes />
    </AdminOnly>
  )
}

function Runtimes() {
  const [{ open, create }, setAddress] = useAddress<'open' | 'create' | 'edit'>()
  const { data, error, refetch } = useQuery(runtimesQuery)
  const close = () => setAddress({ open: undefined, create: undefined, edit: undefined })
  const openRuntime = (id: string) => setAddress({ open: id, create: undefined, edit: undefined }, { isStep: true })
  const panel =
    create === '1' ? <CreateHarness onClose={close} onDone={openRuntime} /> : data && opened(data, open, close)
  return (
    <Page
      title={title}
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
          Register runtime
        </Button>
      }
    >
      <WithPanel panel={panel}>
        {data ? (
          <DataTable
            label="Runtimes"
            rows={data}
            columns={panel ? [name, state] : columns}
            keyOf={({ id }) => id}
            selected={open}
            onOpen={({ id }) => openRuntime(id)}
          />
        ) : error ? (
          <ProblemBlock error={error} what="load the runtimes" retry={() => void refetch()} />
        ) : (
          <Loading />
        )}
      </WithPanel>
    </Page>
  )
}

/** The panel of the runtime that the address names. */
function opened(runtimes: readonly RuntimeHarness[], open: string | undefined, close: () => void) {
  if (open === undefined) return undefined
  const runtime = runtimes.find(({ id }) => id === open)
  if (runtime) return <RuntimePanel key={open} runtime={runtime} onClose={close} />
  return (
    <SidePanel title="Runtime" onClose={close}>
      <Empty title="Not found">The runtime does not exist any more.</Empty>
    </SidePanel>
  )
}

const name: Column<RuntimeHarness> = {
  key: 'name',
  title: 'Name',
  width: 'minmax(140px, 1fr)',
  cell: ({ display_name }) => <SafeText text={display_name} />,
}
const state: Column<RuntimeHarness> = {
  key: 'state',
  title: 'State',
  width: '152px',
  cell: runtime => <RuntimeState runtime={runtime} />,
}

const columns: readonly Column<RuntimeHarness>[] = [
  name,
  state,
  {
    key: 'id',
    title: 'Id in agents',
    width: '184px',
    cell: ({ id }) => <span className="mono">{id}</span>,
    isNarrow: false,
  },
  {
    key: 'kind',
    title: 'Kind',
    width: '176px',
    cell: ({ is_default, api_spec }) => <span className="soft">{is_default ? 'built in' : api_spec}</span>,
    isNarrow: false,
  },
  {
    key: 'key',
    title: 'Key',
    width: '88px',
    cell: ({ masked_api_key: key }) => <span className="mono">{key ?? ''}</span>,
    isNarrow: false,
  },
  {
    key: 'address',
    title: 'Address',
    width: 'minmax(140px, 1.4fr)',
    cell: ({ api_base }) => (
      <span className="soft">
        <SafeText text={api_base} />
      </span>
    ),
    isNarrow: false,
  },
  {
    key: 'probe',
    title: 'Last test',
    width: '84px',
    cell: ({ last_checked_at }) => <Time at={last_checked_at} />,
    isNarrow: false,
  },
]
