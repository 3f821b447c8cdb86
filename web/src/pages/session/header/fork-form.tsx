import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { client } from '../../../data/client.ts'
import { modelNames } from '../../../data/lists.ts'
import { onceKey } from '../../../data/once-key.ts'
import { ProblemLine } from '../../../parts/page-state.tsx'
import type { ForkPoint } from '../selection.ts'

interface Props {
  readonly sessionId: string
  readonly title: string
  /** Undefined copies the whole log. */
  readonly point: ForkPoint | undefined
  readonly onClose: () => void
}

function extentOf(point: ForkPoint | undefined): string {
  if (!point) return 'of this one'
  return 'eventId' in point ? 'of this one up to that step' : 'of this one before that message'
}

/** Creates a session with the log and the files of this one up to an event, and opens it. */
export function ForkForm({ sessionId, title, point, onClose }: Props) {
  const [name, setName] = useState(`${title} (fork)`.slice(0, 200))
  const [model, setModel] = useState<string | null>(null)
  const [key] = useState(onceKey)
  const navigate = useNavigate()
  const { data: models = [] } = useQuery(modelNames)
  const fork = useMutation({
    mutationFn: () =>
      client.sessions.fork(
        {
          params: { session_id: sessionId },
          body: {
            ...(point && ('eventId' in point ? { event_id: point.eventId } : { messageID: point.messageId })),
            ...(model !== null && { model }),
            ...(name.trim() !== '' && { title: name.trim() }),
          },
        },
        { idempotencyKey: key },
      ),
    onSuccess: async ({ id }) => {
      onClose()
      await navigate({ to: '/console/sessions/$sessionId', params: { sessionId: id }, search: {} })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    fork.mutate()
  }
  return (
    <Modal opened onClose={onClose} title="Fork session">
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm">
            The fork is a new session with the conversation and the files {extentOf(point)}. This session does not
            change.
          </Text>
          <TextInput
            label="Title"
            value={name}
            maxLength={200}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            data-autofocus
          />
          <Select
            label="Model"
            description="Model of prompts that do not name one"
            placeholder="The same model"
            data={models}
            value={model}
            onChange={setModel}
            clearable
            searchable
          />
          <ProblemLine error={fork.error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={fork.isPending}>
              Fork session
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
