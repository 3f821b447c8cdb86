import { Alert, Button, FileInput, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Agent, AgentFile } from '../../../../src/contract/agents.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { useMe } from '../../data/sign-in.tsx'
import { useSubmit } from '../../data/submit.ts'
import { Facts } from '../../parts/facts.tsx'
import { plural } from '../../parts/format.ts'
import { OwnerField, useOwner } from '../../parts/owner-field.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'

interface Props {
  readonly onClose: () => void
  readonly onMade: (agent: Agent) => void
}

/** Creates an agent from a file that an export has written. */
export function ImportAgent({ onClose, onMade }: Props) {
  const { owner_id: ownOwner } = useMe()
  const queries = useQueryClient()
  const [file, setFile] = useState<AgentFile>()
  const [problem, setProblem] = useState<string>()
  const [name, setName] = useState('')
  const [owner, setOwner] = useOwner()
  const choose = async (chosen: File | null) => {
    setFile(undefined)
    setProblem(undefined)
    if (!chosen) return
    const read = fileIn(await chosen.text())
    if (read === undefined)
      return setProblem('The file is not an exported agent. Choose a JSON file that “Export agent” wrote')
    setFile(read)
    setName(read.agent.name)
    if (ownOwner === null && read.agent.owner_id !== null) setOwner(read.agent.owner_id)
  }
  const { send, isRunning, error } = useSubmit(async () => {
    if (!file) return
    const made = await client.agents.import({ query: { name, owner_id: owner }, body: file })
    void queries.invalidateQueries({ queryKey: agentsKey })
    onMade(made)
  })

  return (
    <Modal opened onClose={onClose} title="Import agent" size="lg">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <FileInput
            label="File"
            description="A file of “Export agent”"
            placeholder="Choose a file"
            accept="application/json,.json"
            onChange={chosen => void choose(chosen)}
            error={problem}
            required
            data-autofocus
          />
          {file && (
            <>
              <TextInput
                label="Name"
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
                maxLength={200}
                required
              />
              <OwnerField value={owner} onChange={setOwner} />
              <Facts
                of={[
                  ['Model', <SafeText key="model" text={file.agent.model} />],
                  ['Runtime', <SafeText key="runtime" text={file.agent.harness} />],
                  ['Prompt', plural(file.agent.system.length, 'character')],
                  ['Skills', file.skills.length > 0 && plural(file.skills.length, 'skill')],
                ]}
              />
              {file.omitted.length > 0 && (
                <Alert color="yellow" title="Left out of the file, because they looked like secrets">
                  {file.omitted.join(', ')}
                  <Text size="sm">Set them on the page of the agent.</Text>
                </Alert>
              )}
            </>
          )}
          <ProblemLine error={error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={!file || name.trim() === ''}>
              Import agent
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** Returns the agent in the text of a file; undefined for other files. The service checks its fields. */
function fileIn(text: string): AgentFile | undefined {
  try {
    const value: AgentFile = JSON.parse(text)
    const isAgent = value.format === 'switchyard.agent' && typeof value.agent?.name === 'string'
    return isAgent ? { ...value, omitted: value.omitted ?? [], skills: value.skills ?? [] } : undefined
  } catch {
    return undefined
  }
}
