import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { agentQuery, agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { useSubmit } from '../../data/submit.ts'
import { Loading, ProblemLine } from '../../parts/page-state.tsx'
import css from './agent.module.css'
import { ServerChanges } from './change-list.tsx'
import { versionDiffQuery } from './queries.ts'
import type { Editing } from './use-draft.ts'

interface Props {
  readonly editing: Editing
  readonly version: number
  readonly onClose: () => void
}

/** Makes an earlier version current, after it has shown what that changes. */
export function RollBack({ editing: { agent, changes }, version, onClose }: Props) {
  const queries = useQueryClient()
  const [note, setNote] = useState('')
  const diff = useQuery(versionDiffQuery(agent.id, { from: agent.version, to: version }))
  const { send, isRunning, error } = useSubmit(async () => {
    const body = note.trim() === '' ? {} : { note }
    const params = { agent_id: agent.id, version }
    queries.setQueryData(agentQuery(agent.id).queryKey, await client.agents.rollback({ params, body }))
    await queries.invalidateQueries({ queryKey: agentsKey })
    onClose()
  })
  return (
    <Modal opened onClose={onClose} title={`Roll back to version ${version}?`} size="xl">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          <Text size="sm">
            Version {agent.version + 1} will have the fields of version {version}. Status and owner stay. Running
            sessions keep the version that they started with.
          </Text>
          {changes.length > 0 && (
            <div className={css.conflict}>Your unsaved changes stay; you can put them on top of it afterwards.</div>
          )}
          {diff.data ? <ServerChanges changes={diff.data.changes} /> : diff.error ? null : <Loading lines={3} />}
          <Textarea
            label="Note"
            description="Why you roll back"
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
            maxLength={1000}
            autosize
            data-autofocus
          />
          <ProblemLine error={diff.error ?? error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning}>
              Roll back
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
