import { Button, Group, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { client } from '../../data/client.ts'
import { modelNames } from '../../data/lists.ts'
import { useMe } from '../../data/sign-in.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { progressKey } from './progress.ts'

interface Props {
  readonly model: string | undefined
  readonly onDone: () => void
}

const prompt =
  'You are a careful assistant with a workspace of files and a shell. Look before you change anything, say what you did, ' +
  'and keep answers short.'

/** Creates the first agent with fields that work as they are. */
export function AgentStep({ model, onDone }: Props) {
  const { owner_id: owner, principal } = useMe()
  const queries = useQueryClient()
  const [name, setName] = useState('Scribe')
  const [system, setSystem] = useState(prompt)
  const [chosen, setChosen] = useState(model ?? 'demo')
  const { data: models } = useQuery(modelNames)
  const create = useMutation({
    mutationFn: () =>
      client.agents.create({
        body: {
          name,
          owner_id: owner ?? principal,
          system,
          model: chosen,
          tools: [{ type: 'agent_toolset_20260401' }],
        },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: progressKey })
      onDone()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" mt="sm">
        <TextInput label="Name" value={name} onChange={({ currentTarget }) => setName(currentTarget.value)} required />
        <Textarea
          label="Prompt"
          description="Instructions that the agent gets before each session"
          value={system}
          onChange={({ currentTarget }) => setSystem(currentTarget.value)}
          autosize
          minRows={3}
        />
        <Select
          label="Model"
          data={models ?? [chosen]}
          value={chosen}
          onChange={value => setChosen(value ?? chosen)}
          searchable
        />
        <ProblemLine error={create.error} />
        <Group>
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
            Create agent
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
