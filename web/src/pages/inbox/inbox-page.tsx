import { useQuery } from '@tanstack/react-query'
import { agentChoicesQuery } from '../../data/agents.ts'
import { oneOf, useAddress } from '../../parts/address.ts'
import { ChoiceFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { PageTabs } from '../../parts/page-tabs.tsx'
import { History } from './history.tsx'
import { Waiting } from './waiting.tsx'

const tabs = [
  { value: 'waiting', label: 'Waiting' },
  { value: 'history', label: 'History' },
] as const

/** Tool calls that wait for a person, and those that were answered. */
export function InboxPage() {
  const [{ tab, agent, open }, setAddress] = useAddress<'tab' | 'agent' | 'open'>()
  const shown = oneOf(tab, ['waiting', 'history'])
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  return (
    <Page
      title="Inbox"
      toolbar={
        <>
          <PageTabs label="Parts of the inbox" tabs={tabs} value={shown} />
          <ChoiceFilter
            label="Agent"
            value={agent}
            options={agents.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={next => setAddress({ agent: next })}
          />
        </>
      }
    >
      {shown === 'waiting' ? (
        <Waiting agent={agent} open={open} agents={agents} onClear={() => setAddress({ agent: undefined })} />
      ) : (
        <History
          agent={agent}
          open={open}
          onOpen={id => setAddress({ open: id })}
          onClear={() => setAddress({ agent: undefined })}
        />
      )}
    </Page>
  )
}
