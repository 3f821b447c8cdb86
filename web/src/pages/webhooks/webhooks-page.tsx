import { Button } from '@mantine/core'
import { oneOf, useAddress } from '../../parts/address.ts'
import { ChangeDialog, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { PageTabs } from '../../parts/page-tabs.tsx'
import { DeliveriesTab } from './deliveries/deliveries-tab.tsx'
import { TestDialog } from './deliveries/test-dialog.tsx'
import { IncomingTab } from './incoming/incoming-tab.tsx'
import { OutgoingTab } from './outgoing/outgoing-tab.tsx'

const tabs = [
  { value: 'incoming', label: 'Incoming' },
  { value: 'deliveries', label: 'Deliveries' },
  { value: 'outgoing', label: 'Outgoing' },
] as const

type Names = 'tab' | 'create' | 'agent' | 'test' | 'view' | 'open'

/** Webhooks in both directions: senders that start sessions, what they delivered, and receivers of events. */
export function WebhooksPage() {
  const [{ tab: named, test, agent, create }, setAddress] = useAddress<Names>()
  const tab = oneOf(named, ['incoming', 'deliveries', 'outgoing'])
  const isSetup = tab === 'incoming' && (agent !== undefined || create !== undefined)
  const closeTest = () => setAddress({ test: undefined })
  return (
    <Page
      title="Webhooks"
      actions={
        <>
          {isSetup && (
            <Button variant="default" onClick={() => setAddress({ agent: undefined, create: undefined })}>
              Show all webhooks
            </Button>
          )}
          <MayChange>
            {tab === 'incoming' && !isSetup && (
              <Button onClick={() => setAddress({ create: '1' })}>Set up webhook</Button>
            )}
            {tab === 'deliveries' && <Button onClick={() => setAddress({ test: '1' })}>Send test delivery</Button>}
            {tab === 'outgoing' && (
              <Button onClick={() => setAddress({ create: '1', view: undefined })}>Create endpoint</Button>
            )}
          </MayChange>
        </>
      }
      toolbar={<PageTabs label="Parts of webhooks" tabs={tabs} value={tab} />}
    >
      {tab === 'incoming' && <IncomingTab />}
      {tab === 'deliveries' && <DeliveriesTab />}
      {tab === 'outgoing' && <OutgoingTab />}
      {test !== undefined && (
        <ChangeDialog title="Send test delivery" right="Viewers cannot send deliveries" onClose={closeTest}>
          <TestDialog agentId={agent} onClose={closeTest} />
        </ChangeDialog>
      )}
    </Page>
  )
}
