import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useSubmit } from '../data/submit.ts'
import { ProblemLine } from './page-state.tsx'
import { SafeText } from './safe-text.tsx'

interface Props {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Question with the object: `Delete agent Scribe?` */
  readonly question: string
  /** Consequences: `Its 3 schedules stop; its 41 sessions stay readable.` */
  readonly consequence: ReactNode
  /** Verb with object: `Delete agent`. */
  readonly action: string
  /** When given, the person must type it. For agents, keys and vault entries. */
  readonly name?: string | undefined
  readonly run: () => Promise<unknown>
}

/** Asks before a destructive change, and waits for the answer of the service. */
export function Confirm({ isOpen, onClose, question, consequence, action, name, run }: Props) {
  const [typed, setTyped] = useState('')
  const { send, isRunning, error, clear } = useSubmit(async () => {
    await run()
    close()
  })
  const close = () => {
    setTyped('')
    clear()
    onClose()
  }
  const isAllowed = name === undefined || typed === name
  return (
    <Modal opened={isOpen} onClose={close} title={<SafeText text={question} />}>
      <Stack gap="md">
        <Text size="sm">{consequence}</Text>
        {name !== undefined && (
          <TextInput
            label={
              <>
                Type <b>{name}</b> to confirm
              </>
            }
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            data-autofocus
          />
        )}
        <ProblemLine error={error} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button color="red" onClick={() => void send()} disabled={!isAllowed} loading={isRunning}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
