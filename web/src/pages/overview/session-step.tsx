import { Button, Group, Stack, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { client } from '../../data/client.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { progressKey } from './progress.ts'

/** Starts a session of the first agent and opens it. */
export function SessionStep({ agentId }: { readonly agentId: string | undefined }) {
  const [prompt, setPrompt] = useState('List the files of your workspace, then write hello.txt with a greeting.')
  const navigate = useNavigate()
  const queries = useQueryClient()
  const start = useMutation({
    mutationFn: () => client.sessions.create({ body: { ...(agentId !== undefined && { agent_id: agentId }), prompt } }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: progressKey })
      await navigate({ to: '/console/sessions/$sessionId', params: { sessionId: id } })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" mt="sm">
        <Textarea
          label="Prompt"
          value={prompt}
          onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
          autosize
          minRows={2}
          required
        />
        <ProblemLine error={start.error} />
        <Group>
          <Button type="submit" loading={start.isPending} disabled={agentId === undefined}>
            Start session
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
