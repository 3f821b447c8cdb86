import { Button } from '@mantine/core'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { oneOf, useAddress } from '../../parts/address.ts'
import { Page } from '../../parts/page.tsx'
import { PageTabs } from '../../parts/page-tabs.tsx'
import { CallLog } from './call-log.tsx'
import { ConnectTab } from './connect-tab.tsx'
import { ServerForm } from './server-form.tsx'
import { ServerList } from './server-list.tsx'

const tabs = [
  { value: 'servers', label: 'Servers' },
  { value: 'calls', label: 'Call log' },
  { value: 'connect', label: 'Connect a client' },
] as const

/** Tool servers: what state they are in, their tools and calls, and how clients reach them. */
export function McpPage() {
  const isAdmin = useIsAdmin()
  const [{ tab: named, create }, setAddress] = useAddress<'tab' | 'create' | 'open'>()
  const tab = oneOf(named, ['servers', 'calls', 'connect'])
  return (
    <Page
      title="MCP servers"
      actions={isAdmin && <Button onClick={() => setAddress({ create: '1' })}>Register server</Button>}
      toolbar={<PageTabs label="Parts of MCP servers" tabs={tabs} value={tab} />}
    >
      {tab === 'servers' && <ServerList />}
      {tab === 'calls' && <CallLog />}
      {tab === 'connect' && <ConnectTab />}
      {isAdmin && create !== undefined && (
        <ServerForm
          onClose={() => setAddress({ create: undefined })}
          onSaved={({ server_id }) => setAddress({ create: undefined, open: server_id, tab: undefined })}
        />
      )}
    </Page>
  )
}
