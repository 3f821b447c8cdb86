import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent, AgentWrite } from '../../../../../src/contract/agents.ts'
import { agentQuery, agentsKey, webhookAddressOf } from '../../../data/agents.ts'
import { client } from '../../../data/client.ts'
import { useSubmit } from '../../../data/submit.ts'
import { useAddress } from '../../../parts/address.ts'
import { AgentSelect } from '../../../parts/agent-select.tsx'
import { CodeBlock } from '../../../parts/code.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../../parts/page-state.tsx'
import { SecretOnce } from '../../../parts/secret-once.tsx'
import { StatePill } from '../../../parts/state-pill.tsx'
import { TextLink } from '../../../parts/text-link.tsx'
import type { Example } from '../example-fields.tsx'
import { TestSend } from '../test-send.tsx'
import css from '../webhooks.module.css'
import { FilterStep } from './filter-step.tsx'
import { LivePreview } from './live-preview.tsx'
import { MoreSettings } from './more-settings.tsx'
import { newSecret } from './new-secret.ts'
import { samples } from './samples.ts'
import { SecretStep } from './secret-step.tsx'
import { SenderStep } from './sender-step.tsx'
import { senderOf } from './senders.ts'
import { type SetupDraft, settingsFrom, setupOf } from './setup-draft.ts'
import { Step } from './step.tsx'

/** Sets up the webhook of an agent, step by step. */
export function Setup({ agentId }: { readonly agentId: string | undefined }) {
  const [, setAddress] = useAddress<'agent'>()
  return (
    <div className={css.scrolling}>
      <Stack gap="lg">
        <Step number={1} title="Agent">
          <AgentSelect
            label="Agent that gets the deliveries"
            value={agentId}
            onChange={agent => setAddress({ agent })}
          />
        </Step>
        {agentId === undefined ? (
          <Text size="sm" c="dimmed">
            The next steps follow once an agent is chosen.
          </Text>
        ) : (
          <AgentSetup key={agentId} agentId={agentId} />
        )}
      </Stack>
    </div>
  )
}

function AgentSetup({ agentId }: { readonly agentId: string }) {
  const { data: agent, error, refetch } = useQuery(agentQuery(agentId))
  if (agent) return <Steps key={agent.id} agent={agent} />
  return error ? <ProblemBlock error={error} what="load the agent" retry={() => void refetch()} /> : <Loading />
}

function Steps({ agent: loaded }: { readonly agent: Agent }) {
  const queries = useQueryClient()
  // What the edits began with: a change by others in between is a conflict, not overwritten.
  const [agent, setAgent] = useState(loaded)
  const [draft, setDraft] = useState<SetupDraft>(() => setupOf(agent))
  const [shown, setShown] = useState<string>()
  const [example, setExample] = useState<Example>(samples[draft.sender])
  const set = (changes: Partial<SetupDraft>) => setDraft(before => ({ ...before, ...changes }))
  const sender = senderOf(draft.sender)
  const settings = settingsFrom(draft, agent.id)
  const isChanged =
    draft.source !== 'keep' || JSON.stringify(settings) !== JSON.stringify(settingsFrom(setupOf(agent), agent.id))

  const { send, error, isRunning } = useSubmit(async () => {
    const secret = await storedSecret(draft)
    const saved = await client.agents.update({ params: { agent_id: agent.id }, body: updateOf(agent, settings) })
    setAgent(saved)
    setDraft(before => ({ ...before, source: 'keep', pasted: '' }))
    if (draft.source === 'generate') setShown(secret)
    await Promise.all([
      queries.invalidateQueries({ queryKey: agentsKey }),
      queries.invalidateQueries({ queryKey: ['vault'] }),
    ])
  })

  return (
    <div className={css.setup}>
      <Stack gap="lg">
        <Step number={2} title="Address">
          <CodeBlock text={webhookAddressOf(agent.id)} what="address of the webhook" />
          <Text size="sm" c="dimmed">
            The sender must reach it: it needs a public address with https, unless it runs in your network.
          </Text>
        </Step>
        <form onSubmit={event => void send(event)}>
          <Stack gap="lg">
            <Step number={3} title="Sender">
              <SenderStep
                draft={draft}
                setDraft={setDraft}
                onSender={sender => setExample(samples[sender])}
                address={webhookAddressOf(agent.id)}
              />
            </Step>
            <Step number={4} title="Secret">
              <SecretStep draft={draft} set={set} />
            </Step>
            <Step number={5} title="Filter and message" isOptional>
              <FilterStep draft={draft} set={set} sender={sender} />
              <MoreSettings draft={draft} set={set} />
            </Step>
            <ProblemLine error={error} />
            <Group gap="sm">
              <Button type="submit" loading={isRunning} disabled={!isChanged || !isComplete(draft)}>
                Save webhook
              </Button>
              {isChanged ? (
                <StatePill state="waiting" word="not saved yet" />
              ) : (
                <StatePill state="done" word="as stored" detail={`version ${agent.version}`} />
              )}
            </Group>
          </Stack>
        </form>
        <Step number={6} title="Test">
          {isChanged && (
            <Text size="sm" c="dimmed">
              The test uses the stored settings. Save first to test your changes.
            </Text>
          )}
          <Text size="sm">Sends the example of the preview through the checks of the intake.</Text>
          <TestSend key={draft.sender} agentId={agent.id} example={example} />
          <TextLink to="." search={{ tab: 'deliveries', agent: agent.id }}>
            Show the deliveries of this agent
          </TextLink>
        </Step>
      </Stack>
      <aside className={css.preview} aria-label="Preview">
        <Title order={2} mb="sm">
          Preview
        </Title>
        <LivePreview agentId={agent.id} settings={settings} example={example} onChange={setExample} />
      </aside>
      {shown !== undefined && (
        <SecretOnce what={`Secret for ${sender.name}`} secret={shown} onClose={() => setShown(undefined)}>
          <Text size="sm">Enter it at the sender as step 3 says. It is stored as vault entry {draft.entry}.</Text>
        </SecretOnce>
      )}
    </div>
  )
}

const isComplete = ({ source, pasted, entry, signature }: SetupDraft): boolean =>
  entry.trim() !== '' &&
  (source !== 'paste' || pasted.trim() !== '') &&
  (signature?.preset !== 'custom' || (signature.header ?? '') !== '')

/** Stores a new secret before the settings that need it. */
async function storedSecret({ source, entry, pasted, sender }: SetupDraft): Promise<string | undefined> {
  if (source === 'keep') return undefined
  const value = source === 'paste' ? pasted.trim() : newSecret({ isStandard: sender === 'standard-webhooks' })
  await client.vault.set({ body: { key: entry.trim(), value } })
  return value
}

const updateOf = (
  agent: Agent,
  webhook: ReturnType<typeof settingsFrom>,
): AgentWrite & { expected_version: number } => ({
  name: agent.name,
  owner_id: agent.owner_id ?? '',
  expected_version: agent.version,
  config: { webhook },
})
