import { Group, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Agent, ListedAgent } from '../../../../src/contract/agents.ts'
import { agentQuery } from '../../data/agents.ts'
import { AgentMenu } from '../../parts/agent-menu.tsx'
import { AgentState } from '../../parts/agent-state.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { LinkButton } from '../../parts/link-button.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import css from './agents.module.css'

interface Props {
  readonly id: string
  /** Its row in the list, which has the last session. */
  readonly listed: ListedAgent | undefined
  readonly onClose: () => void
}

/** An agent beside the list. */
export function AgentPanel({ id, listed, onClose }: Props) {
  const { data, error, refetch } = useQuery(agentQuery(id))
  const agent = data ?? listed
  return (
    <SidePanel
      title={agent?.name ?? 'Agent'}
      onClose={onClose}
      actions={agent && <AgentMenu agent={agent} onDeleted={onClose} />}
    >
      {agent ? (
        <Summary agent={agent} last={listed?.last_session ?? undefined} />
      ) : error ? (
        <ProblemBlock error={error} what="load the agent" retry={() => void refetch()} />
      ) : (
        <Loading />
      )}
    </SidePanel>
  )
}

interface SummaryProps {
  readonly agent: Agent
  readonly last: ListedAgent['last_session']
}

function Summary({ agent, last }: SummaryProps) {
  const { id, description, status, model, harness, version, owner_id: owner, created_at: created, system } = agent
  return (
    <Stack gap="md">
      <Group gap="sm">
        <LinkButton to="/console/agents/$agentId" params={{ agentId: id }}>
          Open agent
        </LinkButton>
        <MayChange>
          <LinkButton variant="default" to="/console/agents/$agentId" params={{ agentId: id }} search={{ try: '1' }}>
            Try agent
          </LinkButton>
        </MayChange>
        <LinkButton variant="default" to="/console/sessions" search={{ agent: id }}>
          Show sessions
        </LinkButton>
      </Group>
      {description && <SafeText text={description} />}
      <Facts
        of={[
          ['Status', <AgentState key="status" status={status} />],
          ['Model', <SafeText key="model" text={model} />],
          ['Runtime', <SafeText key="runtime" text={harness} />],
          ['Version', version],
          ['Owner', owner !== null && <SafeText key="owner" text={owner} />],
          [
            'Last session',
            last && (
              <Link key="last" to="/console/sessions/$sessionId" params={{ sessionId: last.id }}>
                <SafeText text={last.title} />
              </Link>
            ),
          ],
          ['Created', <Time key="created" at={created} />],
          ['Id', <Id key="id" id={id} what="agent id" />],
        ]}
      />
      <Title order={3}>Prompt</Title>
      {system === '' ? (
        <span className="soft">No prompt: the model gets only what sessions say.</span>
      ) : (
        <pre className={css.prompt} tabIndex={0}>
          <SafeText text={system} />
        </pre>
      )}
    </Stack>
  )
}
