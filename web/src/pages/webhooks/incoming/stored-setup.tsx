import { useQuery } from '@tanstack/react-query'
import type { Agent } from '../../../../../src/contract/agents.ts'
import { agentQuery, webhookAddressOf } from '../../../data/agents.ts'
import { CodeBlock, JsonBlock } from '../../../parts/code.tsx'
import { Facts } from '../../../parts/facts.tsx'
import { plural } from '../../../parts/format.ts'
import { Loading, ProblemBlock } from '../../../parts/page-state.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import { Section } from '../../../parts/section.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import css from '../webhooks.module.css'
import { senderOf } from './senders.ts'
import { setupOf, webhookOf } from './setup-draft.ts'

/** The webhook of an agent as it is stored, for viewers. */
export function StoredSetup({ agentId }: { readonly agentId: string }) {
  const { data: agent, error, refetch } = useQuery(agentQuery(agentId))
  if (agent) return <Stored agent={agent} />
  return error ? <ProblemBlock error={error} what="load the agent" retry={() => void refetch()} /> : <Loading />
}

function Stored({ agent }: { readonly agent: Agent }) {
  const { sender, entry, eventNames, conditions, conversation, template } = setupOf(agent)
  const filters = [...eventNames, ...(conditions.length > 0 ? [plural(conditions.length, 'condition')] : [])]
  return (
    <div className={css.scrolling}>
      <Facts
        of={[
          [
            'Agent',
            <TextLink key="agent" to="/console/agents/$agentId" params={{ agentId: agent.id }} search={{}}>
              <SafeText text={agent.name} />
            </TextLink>,
          ],
          ['Sender', senderOf(sender).name],
          ['Vault entry', <SafeText key="entry" text={entry} />],
          ['Starts for', <SafeText key="events" text={filters.join(', ') || 'every delivery'} />],
          ['Conversation', <SafeText key="conversation" text={conversation || 'one session each'} />],
          [
            'Deliveries',
            <TextLink key="log" to="." search={{ tab: 'deliveries', agent: agent.id }}>
              Show log
            </TextLink>,
          ],
        ]}
      />
      <Section title="Address">
        <CodeBlock text={webhookAddressOf(agent.id)} what="address of the webhook" />
      </Section>
      {template !== '' && (
        <Section title="Message for the agent">
          <CodeBlock text={template} what="message" />
        </Section>
      )}
      <Section title="Settings">
        <JsonBlock value={webhookOf(agent)} what="settings" />
      </Section>
    </div>
  )
}
