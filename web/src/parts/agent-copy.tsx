import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent } from '../../../src/contract/agents.ts'
import { client } from '../data/client.ts'
import { useSubmit } from '../data/submit.ts'
import { ProblemLine } from './page-state.tsx'

interface Props {
  readonly agent: Agent
  readonly onClose: () => void
  readonly onMade: (agent: Agent) => void
}

/** Clones an agent through its exported file, so that what the file leaves out is known before. */
export function AgentCopy({ agent, onClose, onMade }: Props) {
  const [name, setName] = useState(`Copy of ${agent.name}`.slice(0, 200))
  const file = useQuery({
    queryKey: ['agents', 'file', agent.id, agent.version],
    queryFn: () => client.agents.export({ params: { agent_id: agent.id } }),
  })
  const { send, isRunning, error } = useSubmit(async () => {
    if (file.data) onMade(await client.agents.import({ query: { name }, body: file.data }))
  })
  const omitted = file.data?.omitted ?? []
  return (
    <Modal opened onClose={onClose} title={`Clone agent ${agent.name}`}>
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <TextInput
            label="Name of the copy"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            maxLength={200}
            required
            data-autofocus
          />
          <Text size="sm" c="dimmed">
            The copy has the prompt, skills, tools and settings of version {agent.version}. It has no memories,
            schedules or earlier versions.
          </Text>
          {omitted.length > 0 && (
            <Alert color="yellow" title="Not copied, because they look like secrets">
              {omitted.join(', ')}
            </Alert>
          )}
          <ProblemLine error={file.error ?? error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={!file.data || name.trim() === ''}>
              Clone agent
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
