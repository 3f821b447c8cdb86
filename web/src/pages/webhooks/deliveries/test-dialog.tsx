import { Modal, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent } from '../../../../../src/contract/agents.ts'
import { AgentSelect } from '../../../parts/agent-select.tsx'
import { type Example, ExampleFields } from '../example-fields.tsx'
import { samples } from '../incoming/samples.ts'
import { senderFor } from '../incoming/senders.ts'
import { webhookOf } from '../incoming/setup-draft.ts'
import { receiversQuery } from '../queries.ts'
import { TestSend } from '../test-send.tsx'

interface Props {
  readonly agentId: string | undefined
  readonly onClose: () => void
}

/** Tests the webhook of an agent with an example of its sender. */
export function TestDialog({ agentId, onClose }: Props) {
  const [chosen, choose] = useState(agentId)
  const { data: agents } = useQuery(receiversQuery)
  const agent = agents?.find(({ id }) => id === chosen)
  return (
    <Modal opened onClose={onClose} title="Send test delivery" size="lg">
      <Stack gap="md">
        <AgentSelect label="Agent" value={chosen} onChange={choose} />
        {agent && <AgentTest key={agent.id} agent={agent} />}
      </Stack>
    </Modal>
  )
}

function AgentTest({ agent }: { readonly agent: Agent }) {
  const [example, setExample] = useState<Example>(samples[senderFor(webhookOf(agent))])
  return (
    <>
      <ExampleFields example={example} onChange={setExample} />
      <TestSend agentId={agent.id} example={example} />
    </>
  )
}
