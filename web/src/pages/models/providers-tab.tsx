import { useQuery } from '@tanstack/react-query'
import type { Provider } from '../../../../src/contract/providers.ts'
import { useAddress } from '../../parts/address.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import { sourceWords } from './model-columns.tsx'
import { ProviderPanel } from './provider-panel.tsx'
import { ProviderState } from './provider-state.tsx'
import { providersQuery } from './queries.ts'

const name: Column<Provider> = {
  key: 'name',
  title: 'Provider',
  width: 'minmax(140px, 1fr)',
  cell: provider => provider.name,
}
const state: Column<Provider> = {
  key: 'state',
  title: 'State',
  width: '168px',
  cell: provider => <ProviderState provider={provider} />,
}

const columns: readonly Column<Provider>[] = [
  name,
  state,
  {
    key: 'key',
    title: 'Key',
    width: '96px',
    cell: ({ masked_api_key: key }) => <span className="mono">{key ?? ''}</span>,
    isNarrow: false,
  },
  {
    key: 'address',
    title: 'Address',
    width: 'minmax(160px, 1.6fr)',
    cell: ({ api_base }) => <span className="soft">{api_base ?? ''}</span>,
    isNarrow: false,
  },
  {
    key: 'source',
    title: 'Set in',
    width: '112px',
    cell: ({ source }) => <span className="soft">{source === null ? '' : sourceWords[source]}</span>,
    isNarrow: false,
  },
  {
    key: 'stored',
    title: 'Stored',
    width: '84px',
    cell: ({ updated_at }) => <Time at={updated_at} absent="" />,
    isNarrow: false,
  },
]

/** Model providers and their credentials. */
export function ProvidersTab() {
  const [{ open }, setAddress] = useAddress<'open' | 'edit'>()
  const { data, error, refetch } = useQuery(providersQuery)
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the providers" retry={() => void refetch()} /> : <Loading />
  }
  const opened = data.providers.find(({ id }) => id === open)
  return (
    <WithPanel
      panel={
        opened && (
          <ProviderPanel
            key={opened.id}
            provider={opened}
            onClose={() => setAddress({ open: undefined, edit: undefined })}
          />
        )
      }
    >
      <DataTable
        label="Providers"
        rows={data.providers}
        columns={opened ? [name, state] : columns}
        keyOf={({ id }) => id}
        selected={open}
        onOpen={({ id }) => setAddress({ open: id, edit: undefined }, { isStep: true })}
      />
    </WithPanel>
  )
}
