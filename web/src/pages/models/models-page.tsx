import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { oneOf, useAddress } from '../../parts/address.ts'
import { AdminOnly } from '../../parts/admin-only.tsx'
import { SearchFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { PageTabs } from '../../parts/page-tabs.tsx'
import { ModelsTab } from './models-tab.tsx'
import { ProvidersTab } from './providers-tab.tsx'

const title = 'Models and providers'
const tabs = [
  { value: 'models', label: 'Models' },
  { value: 'providers', label: 'Providers' },
] as const

/** The models that clients can call, the upstreams behind them, and the providers with their credentials. */
export function ModelsPage() {
  return (
    <AdminOnly title={title} right="Only administrators see and change models and providers">
      <Models />
    </AdminOnly>
  )
}

function Models() {
  const [address, setAddress] = useAddress<'tab' | 'q' | 'create' | 'open'>()
  const tab = oneOf(address.tab, ['models', 'providers'])
  return (
    <Page
      title={title}
      actions={
        tab === 'models' && (
          <Button leftSection={<IconPlus size={14} />} onClick={() => setAddress({ create: '1', open: undefined })}>
            Add model
          </Button>
        )
      }
      toolbar={
        <>
          <PageTabs label="Parts of models and providers" tabs={tabs} value={tab} />
          {tab === 'models' && (
            <SearchFilter label="Name or upstream" value={address.q} onChange={q => setAddress({ q })} />
          )}
        </>
      }
    >
      {tab === 'models' ? <ModelsTab /> : <ProvidersTab />}
    </Page>
  )
}
