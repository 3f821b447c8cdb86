import { Button, Group, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { agentChoicesQuery } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { modelNames } from '../../data/lists.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'

interface Props {
  readonly agentId: string | undefined
  readonly onClose: () => void
}

/** Starts a session with its first prompt, and opens it. */
export function NewSession({ agentId, onClose }: Props) {
  const [agent, setAgent] = useState(agentId ?? null)
  const [prompt, setPrompt] = useState('')
  const [title, setTitle] = useState('')
  const [model, setModel] = useState<string | null>(null)
  const { data: agents = [] } = useQuery(agentChoicesQuery)
  const { data: models = [] } = useQuery(modelNames)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () =>
      client.sessions.create({
        body: { prompt, ...(agent && { agent_id: agent }), ...(title !== '' && { title }), ...(model && { model }) },
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/console/sessions/$sessionId', params: { sessionId: id } })
    },
  })
  const active = agents.filter(({ status }) => status === 'active')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <SidePanel title="Start session" onClose={onClose}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <Select
            label="Agent"
            description="Without an agent, the built-in runtime answers with the tools of a new session"
            data={active.map(({ id, name }) => ({ value: id, label: name }))}
            value={agent}
            onChange={setAgent}
            clearable
            searchable
          />
          <Textarea
            label="Prompt"
            value={prompt}
            onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
            autosize
            minRows={4}
            required
            data-autofocus
          />
          <TextInput
            label="Title"
            description="Made from the prompt when empty"
            value={title}
            onChange={({ currentTarget }) => setTitle(currentTarget.value)}
            maxLength={200}
          />
          <Select
            label="Model"
            description="That of the agent when empty"
            data={models}
            value={model}
            onChange={setModel}
            clearable
            searchable
          />
          <ProblemLine error={start.error} />
          <Group justify="flex-end">
            <Button type="submit" loading={start.isPending} disabled={prompt.trim() === ''}>
              Start session
            </Button>
          </Group>
        </Stack>
      </form>
    </SidePanel>
  )
}
