import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { ApiKey, ShownApiKey } from '../../../../src/contract/keys.ts'
import { client } from '../../data/client.ts'
import { onceKey } from '../../data/once-key.ts'
import { useSubmit } from '../../data/submit.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { exactTime, plural } from '../../parts/format.ts'
import { useNow } from '../../parts/now.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { keyName } from './key-status.ts'
import { reloadKeys } from './queries.ts'

interface DialogProps {
  readonly apiKey: ApiKey
  readonly isOpen: boolean
  readonly onClose: () => void
}

const graces = [
  ['0s', 'ends at once', 0],
  ['1h', 'works for 1 more hour', 3_600_000],
  ['24h', 'works for 24 more hours', 86_400_000],
  ['7d', 'works for 7 more days', 7 * 86_400_000],
  ['30d', 'works for 30 more days', 30 * 86_400_000],
] as const

interface RotateProps extends DialogProps {
  readonly onRotated: (key: ShownApiKey) => void
}

/** Gives a key another secret; says when the old one ends. */
export function RotateKey({ apiKey, isOpen, onClose, onRotated }: RotateProps) {
  const queries = useQueryClient()
  const now = useNow()
  const [grace, setGrace] = useState('24h')
  const once = useRef('')
  const submit = useSubmit(async () => {
    once.current ||= onceKey()
    const request = { params: { key_id: apiKey.id }, body: { grace } }
    const shown = await client.keys.rotate(request, { idempotencyKey: `${once.current}-${grace}` })
    once.current = ''
    onClose()
    onRotated(shown)
    await reloadKeys(queries)
  })
  const graceMs = graces.find(([value]) => value === grace)?.[2] ?? 0
  return (
    <Modal opened={isOpen} onClose={onClose} title={`Rotate key “${keyName(apiKey)}”?`}>
      <form onSubmit={event => void submit.send(event)}>
        <Stack gap="md">
          <Text size="sm">The key gets a new secret, shown once. Its id, limits, spending and children stay.</Text>
          <Select
            label="The old secret"
            data={graces.map(([value, label]) => ({ value, label }))}
            value={grace}
            onChange={value => setGrace(value ?? grace)}
          />
          <Text size="sm" c="dimmed">
            {graceMs === 0
              ? 'Clients with the old secret get 401 until they have the new one.'
              : `The old secret ends ${exactTime(now + graceMs)}. Give the new one to the clients until then.`}
          </Text>
          <ProblemLine error={submit.error} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={submit.isRunning}>
              Rotate key
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface RevokeProps extends DialogProps {
  /** Valid keys that it created; undefined while unknown. */
  readonly below: number | undefined
}

/** Ends a key for good, and with it the keys below it. */
export function RevokeKey({ apiKey, isOpen, onClose, below }: RevokeProps) {
  const queries = useQueryClient()
  const name = keyName(apiKey)
  const others =
    below === 0
      ? 'It has created no other keys.'
      : `${below === undefined ? 'Keys' : plural(below, 'key')} that it created, and the keys below them, end too.`
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      question={`Revoke key “${name}”?`}
      consequence={`Clients with this key get 401 within 5 seconds, and its running prompts end before their next model call. ${others} Webhooks and schedules that run under it stop. It cannot be restored; its usage stays.`}
      action="Revoke key"
      name={name}
      run={async () => {
        await client.keys.remove({ params: { key_id: apiKey.id } })
        await reloadKeys(queries)
      }}
    />
  )
}
