import { Button } from '@mantine/core'
import { IconPlayerPlay } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { Agent } from '../../../../src/contract/agents.ts'
import { agentQuery } from '../../data/agents.ts'
import { oneOf, useAddress } from '../../parts/address.ts'
import { AgentMenu } from '../../parts/agent-menu.tsx'
import { AgentState } from '../../parts/agent-state.tsx'
import { Id } from '../../parts/copy.tsx'
import { ChangePanel, MayChange } from '../../parts/may-change.tsx'
import { Page } from '../../parts/page.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { WithPanel } from '../../parts/side-panel.tsx'
import css from './agent.module.css'
import { AgentTabs, agentTabs } from './agent-tabs.tsx'
import { ContextPane } from './context-pane.tsx'
import { LeaveGuard } from './leave-guard.tsx'
import { SaveBar } from './save-bar.tsx'
import { TryPanel } from './try-panel.tsx'
import { useDraft } from './use-draft.ts'

/** One agent: its prompt as the model gets it, and all of its settings. */
export function AgentPage() {
  const { agentId } = useParams({ from: '/console/agents/$agentId' })
  const { data, error, refetch } = useQuery(agentQuery(agentId))
  if (data) return <LoadedAgent key={agentId} agent={data} />
  return (
    <Page title="Agent">
      {error ? <ProblemBlock error={error} what="load the agent" retry={() => void refetch()} /> : <Loading />}
    </Page>
  )
}

function LoadedAgent({ agent }: { readonly agent: Agent }) {
  const [address, setAddress] = useAddress<'tab' | 'try'>()
  const navigate = useNavigate()
  const editing = useDraft(agent)
  const tab = oneOf(address.tab, agentTabs)
  const isTrying = address.try !== undefined
  const closeTry = () => setAddress({ try: undefined })
  return (
    <Page
      title={agent.name}
      beside={
        <span className={css.beside}>
          <AgentState status={agent.status} />
          <span className="soft numbers">v{agent.version}</span>
          <span className={css.id}>
            <Id id={agent.id} what="agent id" />
          </span>
        </span>
      }
      actions={
        <>
          <SaveBar editing={editing} />
          <MayChange>
            <Button
              variant={editing.changes.length > 0 ? 'default' : 'filled'}
              leftSection={<IconPlayerPlay size={14} />}
              onClick={() => setAddress({ try: '1' })}
            >
              Try agent
            </Button>
          </MayChange>
          <AgentMenu agent={agent} onDeleted={() => void navigate({ to: '/console/agents' })} />
        </>
      }
    >
      <LeaveGuard isDirty={editing.changes.length > 0} />
      <WithPanel
        panel={
          isTrying && (
            <ChangePanel title={`Try ${agent.name}`} right="Viewers cannot start sessions" onClose={closeTry}>
              <TryPanel editing={editing} onClose={closeTry} />
            </ChangePanel>
          )
        }
      >
        <div className={css.columns} data-narrow={isTrying || undefined}>
          <ContextPane editing={editing} />
          <AgentTabs editing={editing} tab={tab} />
        </div>
      </WithPanel>
    </Page>
  )
}
