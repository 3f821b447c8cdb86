import { Button, Group, Modal, Stack, Textarea } from '@mantine/core'
import { useState } from 'react'
import { ApiError } from '../../../../src/client/index.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { ChangeList } from './change-list.tsx'
import { StaleNotice } from './stale-notice.tsx'
import type { Editing } from './use-draft.ts'

interface Props {
  readonly editing: Editing
  readonly onClose: () => void
}

/** Shows what a save changes, asks why, and saves it as a new version. */
export function SaveDialog({ editing, onClose }: Props) {
  const { agent, changes, isStale, save } = editing
  const [note, setNote] = useState('')
  const { send, isRunning, error } = useSubmit(async () => {
    await save(note)
    onClose()
  })
  const isConflict = error instanceof ApiError && error.status === 409
  return (
    <Modal opened onClose={onClose} title={`Save as version ${agent.version + 1}`} size="xl">
      <form onSubmit={event => void send(event)}>
        <Stack gap="md">
          {isStale && <StaleNotice editing={editing} onDiscard={onClose} />}
          <ChangeList changes={changes} />
          <Textarea
            label="Note"
            description="Why this version is made. Shown in the list of versions"
            placeholder="The answers were too long"
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
            maxLength={1000}
            autosize
            data-autofocus
          />
          {!(isConflict && isStale) && <ProblemLine error={error} />}
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Keep editing
            </Button>
            <Button type="submit" loading={isRunning} disabled={isStale || changes.length === 0}>
              Save version
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
